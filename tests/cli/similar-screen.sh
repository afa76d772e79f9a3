# On a terminal: a heading a query, columns, bars; the matrix in columns; and no waiting for queries that nobody pipes in.
printf 'east 1 0\nnorth 0 1\nnortheast 1 1\nwest -2 0\n' > w.txt
cat > screen.py <<'PY'
import os, pty, sys
for env, args in (({"TERM": "dumb"}, ["east", "NORTH", "-k", "2"]), ({"COLUMNS": "44"}, ["west", "--metric", "dot"]),
                  ({}, ["--matrix", "east", "northeast"]), ({}, ["east", "--match", "x*"]), ({}, [])):
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(env)
        os.execvp("embtool", ["embtool", "similar", "-q", "-t", "w.txt", *args])
    out = b""
    while True:
        try:
            piece = os.read(fd, 4096)
        except OSError:
            break
        if not piece:
            break
        out += piece
    status = os.waitpid(pid, 0)[1]
    print(ascii(out.decode()).replace("\\r\\n", "\n"), f"exit {os.waitstatus_to_exitcode(status)}")
PY
timeout 10 python3 screen.py
