# .npy files are written in this machine's byte order and C's; opaque types keep their name. New rows from another table.
cat > make.py <<'END'
import struct
def npy(name, descr, data, shape=(2, 2), fortran=False):
    head = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}".ljust(117) + "\n"
    open(name, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + data)
npy("big.npy", ">f4", struct.pack(">4f", 1, 2, 3, 4))
npy("fortran.npy", "<f8", struct.pack("<4d", 1, 3, 2, 4), fortran=True)
npy("opaque.npy", "<V2", bytes.fromhex("803f 0040 4040 8040"))
npy("third.npy", "<f8", struct.pack("<2d", 1 / 3, 1e-50), shape=(1, 2))
npy("line.npy", "<f8", struct.pack("<4d", 0, 0, 1, 2))
npy("nan.npy", "<f4", struct.pack("<4f", 1, float("nan"), 3, 4))
END
cat > show.py <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
n, = struct.unpack("<H", data[8:10])
print((10 + n) % 64, data[10:10 + n].decode().rstrip(), [x[0] for x in struct.iter_unpack(sys.argv[2], data[10 + n:])])
END
python3 make.py
embtool resize big.npy --rows 3 --init zeros -o big2.npy -q > plan && python3 show.py big2.npy '<f'
embtool resize fortran.npy --rows 3 -o fortran2.npy -q > plan && python3 show.py fortran2.npy '<d'
embtool resize opaque.npy --input-dtype bf16 --rows 3 -o opaque2.npy -q > plan && python3 show.py opaque2.npy '<H'

# f64 to f32 with one rounding; the row after the last of the other table is the mean row. The same type: the same bits.
embtool resize big.npy --rows 4 --init from:third.npy -o from.npy -q > plan && python3 show.py from.npy '<f'
embtool resize fortran.npy --rows 3 --init from:third.npy -o same.npy -q > plan && python3 show.py same.npy '<d'
# Both rows lie on y = 2 x, so every row of their covariance does: x is random, and twice x is exact.
embtool resize line.npy --rows 4 --init covariance:1 -o spread.npy -q > plan
python3 -c 'import struct
data = open("spread.npy", "rb").read()[-64:]
x, y, x2, y2 = struct.unpack("<8d", data)[4:]
print(y == 2 * x, y2 == 2 * x2, len({x, x2, .5}))'
printf 'a 1 2\nb 3 4\n' > ab.txt
printf 'd 9 8\nc 7 6\n' > cd.txt
embtool resize ab.txt --add-tokens c,d --init from:cd.txt -o abcd.txt -q > plan && cat abcd.txt
embtool resize ab.txt --add-tokens e --init from:cd.txt -o none.txt -q > plan || echo exit $?
embtool resize nan.npy --rows 3 --init 'mean-of:#0+#1' -o none.npy -q > plan || echo exit $?
ls | grep -c none || true
