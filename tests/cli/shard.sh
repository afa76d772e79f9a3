# Tables cut and put together: what every file holds is told by a formula, V and d that N divides or not, N above V.
shard() { embtool shard "$@" || echo "exit $?"; }
cat > look.py <<'PY'
import json, os, sys
sys.path.insert(0, os.environ["DATA"] + "/../cases")
from craft import safetensors, tensor
def rows(v, d, plus=0):
    return [[float(100 * r + c + plus) for c in range(d)] for r in range(v)]
def read(path):
    b = open(path, "rb").read()
    n = int.from_bytes(b[:8], "little")
    return json.loads(b[8:8 + n]), b[8 + n:]
PY
cat > make.py <<'PY'
from look import *
for v in (8, 7, 3):
    open(f"t{v}.safetensors", "wb").write(safetensors({"words": tensor(rows(v, 6))}))
os.mkdir("m")
open("m/model.safetensors", "wb").write(safetensors({
    "gpt_neox.embed_in.weight": tensor(rows(7, 6), "bf16"), "embed_out.weight": tensor(rows(7, 6, 0.5), "bf16"),
    "embed_out.bias": tensor([float(r) for r in range(7)], shape=[7]), "layers.0.x": tensor([[1.0]])}))
open("m/config.json", "w").write('{"model_type": "gpt_neox", "vocab_size": 7, "hidden_size": 6}')
open("m/vocab.json", "w").write(json.dumps({f"w{i}": i for i in range(7)}))
open("m/merges.txt", "w").write("#version: 0.2\n")
PY
cat > check.py <<'PY'
# check.py DIR V D N AXIS: each shard is [part, D] or [V, part] of rows(V, D), zeros behind; says what it is
from look import *
where, v, d, n, axis = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
whole = rows(v, d)
total = v if axis == "vocab" else d
part = -(-total // n)
for k in range(n):
    head, data = read(f"{where}/table-{k + 1:05}-of-{n:05}.safetensors")
    first = min(k * part, total)
    count = min(part, total - first)
    what = ("row", "rows") if axis == "vocab" else ("dim", "dims")
    meta = {"emb_axis": axis, "emb_rank": k, "emb_size": n, f"emb_first_{what[0]}": first, f"emb_{what[1]}": count,
            f"emb_total_{what[1]}": total}
    found = {key: x for key, x in head["__metadata__"].items() if key not in ("format", "emb_tokens")}
    assert found == {key: str(x) for key, x in meta.items()}, found
    if axis == "vocab":
        expected = [whole[first + r] if r < count else [0.0] * d for r in range(part)]
    else:
        expected = [[row[first + c] if c < count else 0.0 for c in range(part)] for row in whole]
    t = head["words"]
    shape = [part, d] if axis == "vocab" else [v, part]
    assert t["shape"] == shape, t
    assert data[t["data_offsets"][0]:t["data_offsets"][1]] == tensor(expected, shape=shape)[2], k
PY
cat > same.py <<'PY'
# same.py A B: the same tensors, bit for bit
from look import *
a, b = map(read, sys.argv[1:])
a[0].pop("__metadata__", None), b[0].pop("__metadata__", None)
assert a == b, (a, b)
PY
python3 make.py
for v in 8 7 3; do
    for axis in vocab dims; do
        shard t$v.safetensors --tp 4 --axis $axis -o $axis$v -q > said && tail -n +3 said
        python3 check.py $axis$v $v 6 4 $axis
        shard --join $axis$v -o j$axis$v.safetensors -q > said
        python3 same.py t$v.safetensors j$axis$v.safetensors
    done
done
# one shard; more than there are rows or dims
shard t7.safetensors --tp 1 -o one -q --json
shard t3.safetensors --tp 12 --axis dims -o many -q | grep padding
python3 check.py many 3 6 12 dims
shard --join many -o jmany.safetensors | head -2
python3 same.py t3.safetensors jmany.safetensors
# tokens travel; every command takes the directory
printf 'cat 1 0 2\ndog 0 3 1\nowl 2 2 0\nnil 0 0 0\nyak 1 1 1\n' > w.txt
shard w.txt --tp 2 -o w -n | grep tokens
shard w.txt --tp 2 -o w > said
shard w.txt --tp 2 --axis dims -o wd > said
ls w
for t in w wd; do
    embtool lookup -t $t cat yak
    for command in "similar cat owl -t" "stats --columns -t" "lookup --id 0..4 -t"; do
        embtool $command w.txt | grep -v '^path\|^format\|^tensor\|^bytes' > whole
        embtool $command $t | grep -v '^path\|^format\|^tensor\|^bytes' > cut
        cmp whole cut
    done
    shard --join $t -o back-$t.txt > said
    cmp w.txt back-$t.txt
done
embtool ls w
embtool lookup -t w/table-00002-of-00002.safetensors --id 0..2 --label none
shard w --tp 3 -o w3 > said
shard --join w3 -o w3.txt > said
cmp w.txt w3.txt
# the tables of a model, by their names; the config and the tokenizer
for axis in vocab dims; do
    shard m --tp 2 --axis $axis -o m$axis | grep tensor
    ls m$axis
    for what in "" --head; do
        embtool lookup -t m $what --id 0..6 > whole
        embtool lookup -t m$axis $what --id 0..6 > cut
        cmp whole cut
    done
    embtool lookup -t m w0 w6 > whole
    embtool lookup -t m$axis w0 w6 | cmp - whole
    python3 -c 'from look import *; open("h.npy", "wb").write(__import__("craft").npy([[1.0, 0, 0, 0, 0, 2]]))'
    embtool logits h.npy -t m -q > whole
    embtool logits h.npy -t m$axis -q | cmp - whole
done
shard --join mvocab -o jm.safetensors
embtool lookup -t jm.safetensors w6
shard --join mvocab --head -o jh.safetensors > said
embtool ls jh.safetensors
# over an older one
shard w.txt --tp 2 -o wd
shard w.txt --tp 3 -o wd --force > said
ls wd
# refusals
shard
shard w.txt
shard w.txt -o x
shard w.txt --tp 0 -o x
shard w.txt --tp 513 -o x
shard w.txt --tp 2 --axis depth -o x
shard w.txt --tp 2 -o -
shard w.txt more --tp 2 -o x
shard --join w --tp 2 -o x.txt
shard --join w.txt -o x.txt
shard --join w
shard w.txt --tp 2 -o m --force
embtool resize w --add-tokens new -o x || echo "exit $?"
rm -r __pycache__
ls
