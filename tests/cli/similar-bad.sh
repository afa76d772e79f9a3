# Command lines that make no sense are refused before the table is read; rows that cannot ask, after the others.
printf 'east 1 0\nzero 0 0\nnan nan 1\nfar 3 4\n' > w.txt
try() { embtool similar -t w.txt "$@" || echo "exit $?"; }
try east --all
try east --vectors w.txt
try east --digits 18
try east --restrict 0
try east --method mul --metric dot
try east --metric manhattan
try east --topn 3
try east --analogy east far
try -k
embtool similar -t - < w.txt || echo "exit $?"
try zero east nan far -k 1
try zero -k 1 --metric dot
try --expr 'east - zero' -k 1
try --expr 'east + nan' --metric dot
try --all -k 1
try '#4'
try --id 4
try --id 2..1
printf '1 2 3\n' | embtool similar -t w.txt --vectors - || echo "exit $?"
python3 - <<'PY'
import struct
head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"
head += b" " * (117 - len(head)) + b"\n"
open("x.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + struct.pack("<6f", 1, 0, 0, 1, 1, 1))
PY
embtool similar -t x.npy '#0' --id 2 -k 1
embtool similar -t x.npy --json '#0' -k 1
embtool similar -t x.npy '#0' cat || echo "exit $?"
embtool similar -t x.npy '#0' --match 'c*' || echo "exit $?"
# A missing word does not take an option for its own.
embtool similar --analogy man king -k 1 || echo "exit $?"
embtool similar --analogy man king --top-k 1 || echo "exit $?"
