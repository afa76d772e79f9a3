# Ids from .npy: from a file and through a pipe, any order of bytes and axes; the shape stays.
printf 'cat 1 2\ndog 3 4\nfox -0.5 0.25\n' > w.txt
cat > mk.py <<'PY'
import struct, sys
name, descr, fortran, shape, *values = sys.argv[1:]
head = ("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)).ljust(117) + "\n"
code = {"i8": "q", "i4": "i", "u1": "B", "f4": "f"}[descr[1:]]
data = struct.pack(descr[0].replace("|", "<") + str(len(values)) + code, *map(float if code == "f" else int, values))
open(name, "wb").write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + data)
PY
show() { python3 "$DATA/../cli/show.py" "$@"; }
python3 mk.py a.npy '<i8' False '(2, 2)' 0 1 2 2
python3 mk.py b.npy '>i4' True '(2, 2)' 0 2 1 2
python3 mk.py c.npy '|u1' False '(3,)' 2 0 1
python3 mk.py d.npy '<i8' False '(0, 5)'
python3 mk.py e.npy '<f4' False '(2,)' 0 1
python3 mk.py f.npy '<i8' False '(1, 2)' 0 -1
embtool lookup -t w.txt -i a.npy -o a.out.npy
embtool lookup -t w.txt -i b.npy -O npy | show -
embtool lookup -t w.txt -O npy < c.npy | show -
cat b.npy | embtool lookup -t w.txt -O safetensors | show -
embtool lookup -t w.txt -i d.npy -O npy | show -
embtool lookup -t w.txt -i a.npy --ragged -O safetensors | show -
embtool lookup -t w.txt -i a.npy --pad-id 0 -O npy | show -
show a.out.npy
embtool lookup -t w.txt -i e.npy || echo "exit $?"
cat f.npy | embtool lookup -t w.txt || echo "exit $?"
embtool lookup -t w.txt -i f.npy -o f.out.npy || echo "exit $?"
head -c 130 a.npy | embtool lookup -t w.txt || echo "exit $?"
ls f.out.npy 2> /dev/null || true
