# A reader that goes away ends the run by SIGPIPE, without a word, even if SIGPIPE was ignored before.
cat > run.py <<'PY'
import signal, subprocess
for restore in (True, False):
    p = subprocess.Popen(["embtool", "lookup", "-q", "--id", "0..9999"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         restore_signals=restore)
    p.stdout.read(10)
    p.stdout.close()
    print(p.stderr.read(), p.wait() == -signal.SIGPIPE)
PY
python3 run.py
