# A mapped file that becomes shorter while it is read is named, exit 4.
cat > run.py <<'PY'
import os, struct, subprocess
rows, dims = 4096, 1024
head = ("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (rows, dims)).ljust(117) + "\n"
with open("t.npy", "wb") as f:
    f.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode())
    f.truncate(128 + rows * dims * 4)
p = subprocess.Popen(["embtool", "lookup", "-t", "t.npy", "-j", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE)
p.stdin.write(b"0\n")
p.stdin.flush()
p.stdout.readline()
os.truncate("t.npy", 128)
out, err = p.communicate(b"4095\n")
print(out, err.decode(), p.returncode)
PY
timeout 10 python3 run.py
