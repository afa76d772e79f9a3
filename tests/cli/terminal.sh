# On a terminal: no rows are asked for at the keyboard, binary is refused, and a long run shows how far it is.
printf 'cat 1 2\ndog 3 4\n' > w.txt
cat > keyboard.py <<'PY'
import os, pty, subprocess
def run(args, stdin=None, stdout=None, stderr=None, feed=b""):
    """One of the streams is a terminal (None); says what came out of it and of the others."""
    master, slave = pty.openpty()
    p = subprocess.Popen(["embtool", *args], stdin=slave if stdin is None else stdin, stdout=slave if stdout is None else stdout,
                         stderr=slave if stderr is None else stderr)
    os.close(slave)
    if feed:
        os.write(p.stdin.fileno(), feed)
        p.stdin.close()
    said = b""
    while True:
        try:
            more = os.read(master, 4096)
        except OSError:
            break
        if not more:
            break
        said += more
    rest = [f.read() for f in (p.stdout, p.stderr) if f]
    p.wait()
    os.close(master)
    print(p.returncode, said, *rest)
PIPE = subprocess.PIPE
run(["lookup", "-t", "w.txt"], stdout=PIPE, stderr=PIPE)
run(["lookup", "-t", "w.txt", "cat", "-O", "npy"], stdin=PIPE, stderr=PIPE)
run(["lookup", "-t", "w.txt", "cat"], stdin=PIPE, stderr=PIPE)
PY
timeout 10 python3 keyboard.py
