# Without a query, each line is one. The answer is there before the next line is asked for; what goes wrong is
# reported, and the others go on.
printf 'east 1 0\nnorth 0 1\nfar 3 4\nzero 0 0\n' > w.txt
printf 'far\r\nfaar\n#1\n#7\n\nzero\neast' | embtool similar -t w.txt -k 1 || echo "exit $?"
printf 'far\nfaar\n' | embtool similar -t w.txt -k 1 || echo "exit $?"
printf 'far\n' | embtool similar -t w.txt -k 1 east
printf '' | embtool similar -t w.txt
cat > talk.py <<'PY'
import subprocess, sys
for args in ([], ["--json"], ["--pairs"]):
    p = subprocess.Popen(["embtool", "similar", "-t", "w.txt", "-k", "1", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for ask in (b"north\tfar\n", b"far\teast\n") if "--pairs" in args else (b"north\n", b"#0\n"):
        p.stdin.write(ask)
        p.stdin.flush()
        sys.stdout.write(p.stdout.readline().decode())
        sys.stdout.flush()
    p.stdin.close()
    print(p.stdout.read().decode() + f"exit {p.wait()}")
PY
timeout 10 python3 talk.py
