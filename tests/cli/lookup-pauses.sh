# Rows leave while the input is still open: the answer to each line is there before the next is asked.
printf 'cat 1 2\ndog 3 4\n' > w.txt
cat > talk.py <<'PY'
import subprocess, sys
for args, asks in ((["--tokens"], (b"dog\n", b"cat\n")), ([], (b"1\n", b"0\n")), (["--json"], (b"1\n",))):
    p = subprocess.Popen(["embtool", "lookup", "-t", "w.txt", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for ask in asks:
        p.stdin.write(ask)
        p.stdin.flush()
        sys.stdout.write(p.stdout.readline().decode())
        sys.stdout.flush()
    p.stdin.close()
    print(p.stdout.read().decode() + f"exit {p.wait()}")
PY
timeout 10 python3 talk.py
