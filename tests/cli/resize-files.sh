# Files that hold more than a table keep the rest byte for byte; a second run changes nothing.
cat > make.py <<'END'
import json, struct
f = lambda *x: struct.pack(f"<{len(x)}f", *x)
head = '''{ "b\\u00e9" : {"data_offsets": [ 0, 4], "shape":[1], "dtype":"F32", "note" : "[0,4]"},
"wte.weight":{"shape":[3 ,2],"data_offsets":[4, 28 ],"dtype":"F32"},
  "__metadata__":{"wte.weight":"{\\"shape\\":[3,2]}"}, "last":{"dtype":"U8","shape":[],"data_offsets":[28,29]} }   '''.encode()
data = f(9) + f(1, 2, 3, 4, 5, 9) + b"!"
open("t.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + data + b"trailing")
open("t.raw", "wb").write(b"MAGIC" + f(1, 2, 3, 4) + b"tail")
END
cat > show.py <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
n, = struct.unpack("<Q", data[:8])
print(n % 8, data[8:8 + n].decode() + "|")
print(struct.unpack("<f", data[8 + n:12 + n]), struct.unpack(f"<{(len(data) - 13 - n) // 4}f", data[12 + n:-1]), data[-1:])
END
python3 make.py
embtool resize t.safetensors --rows 5 -o more.safetensors -q
python3 show.py more.safetensors
embtool resize more.safetensors --rows 1 --shrink -o one.safetensors -q
python3 show.py one.safetensors
cp one.safetensors same.safetensors
embtool resize same.safetensors --in-place --pad-to 1 > plan
cmp one.safetensors same.safetensors
embtool resize t.raw --format raw --shape 2,2 --offset 5 --input-dtype f32 --rows 3 --init copy:#0 -o more.raw -q
od -An -c more.raw
cp "$DATA/golden/safetensors/tied.safetensors" tied.safetensors
embtool resize tied.safetensors --pad-to 1000 -o padded.safetensors -q -j 1 > plan
embtool resize tied.safetensors --pad-to 1 -o plain.safetensors -q
