# Hidden states times the output table. Expected numbers are small sums that the comments work out; models: check_positions.py.
logits() { embtool logits "$@" || echo "exit $?"; }
show() { python3 "$DATA/../cli/show.py" "$@"; }
printf 'east 1 0\nnorth 0 1\nfar 3 4\nsame 3 4\nwest -2 0\n' > w.txt
python3 - "$DATA/../cases" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from craft import npy, npy_raw
open("h.npy", "wb").write(npy([[2.0, 1.0], [0.0, -1.0]]))
for name, shape in (("three.npy", (3, 2, 2)), ("one.npy", (2,))):
    n = 4 * 2 * (6 if len(shape) > 1 else 1)
    open(name, "wb").write(npy_raw("{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,), bytes(n)))
PY
# 2 1: east 2, north 1, far and same 10 (the lower id first), west -4; 0 -1: 0, -1, -4, -4, 0
logits h.npy -t w.txt -k 3
logits h.npy -t w.txt -k 0 | tail -5
logits h.npy -t w.txt -k 2 --json
# two equal ones at the top: 1 / (2 + e^-8 + e^-9 + e^-14) = 0.499885
logits h.npy -t w.txt -k 1 --softmax
# halved by a temperature of 2: 1 / (2 + e^-4 + e^-4.5 + e^-7) = 0.492529
logits h.npy -t w.txt -k 1 --softmax --temperature 2 --json
logits h.npy -t w.txt -o all.npy && show all.npy
logits h.npy -t w.txt -O npy | cmp - all.npy
logits h.npy -t w.txt -o all.safetensors --name scores --dtype f16 && embtool ls all.safetensors
logits h.npy -t w.txt -o p.npy --softmax --limit 2 && show p.npy
# the shape of the hidden states, with V in the place of d
logits three.npy -t w.txt -o o.npy && embtool ls o.npy
logits one.npy -t w.txt -o o1.npy && embtool ls o1.npy
# the head where there is one, its bias, the cap: 4 tanh((1 2 + 2 1 + 0.5) / 4) = 4 tanh(1.125) = 3.237200
python3 - "$DATA/../cases" <<'PY'
import sys, json, os
sys.path.insert(0, sys.argv[1])
from craft import safetensors, tensor
def model(name, config, tensors):
    os.mkdir(name)
    open(name + "/model.safetensors", "wb").write(safetensors(tensors))
    open(name + "/config.json", "w").write(json.dumps(config))
rows, head = [[9.0, 9.0], [9.0, 0.0]], [[1.0, 2.0], [0.0, -1.0]]
model("gptj", {"model_type": "gptj"}, {"transformer.wte.weight": tensor(rows), "lm_head.weight": tensor(head),
                                       "lm_head.bias": tensor([0.5, -4.0], shape=[2])})
model("cap", {"model_type": "gemma2", "final_logit_softcapping": 4.0},
      {"model.embed_tokens.weight": tensor(rows), "lm_head.weight": tensor(head), "lm_head.bias": tensor([0.5, 0.0], shape=[2])})
model("scaled", {"model_type": "cohere"}, {"model.embed_tokens.weight": tensor(head, "bf16")})
model("marian", {"model_type": "marian"}, {"model.shared.weight": tensor(head),
                                           "final_logits_bias": tensor([[1.0, 2.0]], shape=[1, 2])})
PY
logits h.npy -t gptj
logits h.npy -t gptj --as-model -k 1
logits h.npy -t gptj#lm_head.weight -k 1
logits h.npy -t cap -k 1
logits h.npy -t cap -k 1 --as-model
logits h.npy -t scaled -k 1
logits h.npy -t scaled -k 1 -q
logits h.npy -t scaled --as-model -k 1
logits h.npy -t marian
logits - -t marian < three.npy | head -1
# refusals
logits
logits a b
logits h.npy -t w.txt -k 2 -o o.npy --force
logits h.npy -t w.txt -o o.npy
logits h.npy -t w.txt -o o.dat
logits h.npy -t w.txt --dtype f16
logits h.npy -t w.txt --dtype i8 -o x.npy
logits h.npy -t w.txt --temperature 0
logits h.npy -t w.txt --temperature -1
logits h.npy -t w.txt --digits 18
logits - -t -
logits nothing.npy -t w.txt
logits h.npy -t cap --limit 0
logits h.npy -t nothing.npy
embtool logits h.npy -t w.txt > /dev/full || echo "exit $?"
ls
