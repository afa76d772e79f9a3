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
# the same lines from a file; where words come from is said once
printf 'far\nfaar\n#1\n' > words
embtool similar -t w.txt -k 1 --tokens-file words || echo "exit $?"
embtool similar -t w.txt -k 1 --tokens < words > /dev/null 2>&1 || echo "exit $?"
embtool similar -t - -k 1 --tokens-file words < w.txt 2> /dev/null || echo "exit $?"
embtool similar -t w.txt --tokens far || echo "exit $?"
embtool similar -t w.txt --tokens-file words --all || echo "exit $?"
embtool similar -t - --tokens < words || echo "exit $?"
embtool similar -t w.txt --tokens-file none || echo "exit $?"
