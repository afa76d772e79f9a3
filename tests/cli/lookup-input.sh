# What a model hands to its first block, all at once and step by step. The tables are whole numbers, so that sums can be
# checked by eye: row i of the words is i and 0.5, that of place t is 100 t and -1.
python3 - "$DATA" <<'END'
import json, os, sys
sys.path.insert(0, os.path.join(sys.argv[1], "../cases"))
from craft import safetensors, tensor
def model(name, tensors, **config):
    os.mkdir(name)
    open(f"{name}/model.safetensors", "wb").write(safetensors({k: tensor(v) for k, v in tensors.items()}))
    open(f"{name}/config.json", "w").write(json.dumps(config))
words = [[float(i), 0.5] for i in range(5)]
places = [[100.0 * t, -1.0] for t in range(6)]
model("gpt2", {"wte.weight": words, "wpe.weight": places}, model_type="gpt2")
model("llama", {"model.embed_tokens.weight": words}, model_type="llama")
model("mamba", {"backbone.embeddings.weight": words}, model_type="mamba")
model("gemma", {"model.embed_tokens.weight": [[float(i), 0.5, 1.0, -2.0] for i in range(5)]}, model_type="gemma")
model("opt", {"decoder.embed_tokens.weight": words, "decoder.embed_positions.weight": places}, model_type="opt", hidden_size=2)
model("roberta", {"embeddings.word_embeddings.weight": words, "embeddings.position_embeddings.weight": places,
                  "embeddings.token_type_embeddings.weight": [[0.25, 0.0], [0.0, 7.0]],
                  "embeddings.LayerNorm.weight": [1.0, 1.0], "embeddings.LayerNorm.bias": [0.0, 10.0]},
      model_type="roberta", pad_token_id=1, type_vocab_size=2)
model("odd", {"wte.weight": words, "wpe.weight": places}, model_type="novel")
END
lookup() { embtool lookup "$@" || echo "exit $?"; }

lookup -t gpt2 4 0 2 --input-layer
lookup -t gpt2 1 1 --positions learned --start 3
printf '4 0\n2 3\n' | lookup -t gpt2 --positions auto          # each line begins at 0
printf '4\n0\n2\n' | lookup -t gpt2 --positions auto           # lines of one id are one sequence
printf '[[4], [0, 2]]' | lookup -t gpt2 --positions auto 2>&1  # which one is it here?
printf '4 0\n2\n3 1\n' | lookup -t gpt2 --positions auto       # these are three
printf '4 0\n2\n' | lookup -t gpt2 --pad-id 1 --positions auto -O raw | od -An -v -tf4 -w16
printf '4 0\n2\n' | lookup -t opt --pad-id 1 --input-layer -O raw | od -An -v -tf4 -w16  # the pad has row 1
lookup -t roberta 3 1 2 --positions auto                       # as has RoBERTa's pad id, which is not counted
printf '0 1 1\n' > types
lookup -t roberta 3 1 2 --type-ids types
lookup -t roberta 3 1 2 --input-layer
lookup -t gemma 2 --input-layer 2>&1
lookup -t gpt2 2 --positions sinusoidal
lookup -t gpt2 2 --scale -1.5
lookup -t odd 2 3 --positions learned
lookup -t gpt2 --limit 3 2 --input-layer
lookup -t gpt2 --head 2 --input-layer
lookup -t llama 2 --input-layer 2>&1
lookup -t mamba 2 --input-layer -q
lookup -t mamba 2 --positions auto 2>&1
lookup -t gpt2 4 0 --json --input-layer

# refused, with both numbers where a position is meant
lookup -t gpt2 1 1 1 --start 4 --positions auto 2>&1
lookup -t gpt2 1 1 1 --start 4 --input-layer -o x.npy 2>&1
lookup -t roberta 3 3 3 3 3 --positions auto 2>&1
ls x.npy 2>&1 | wc -l
lookup -t odd 2 --input-layer 2>&1
lookup -t odd 2 --positions auto 2>&1
lookup -t llama 2 --positions learned 2>&1
lookup -t gpt2 2 --layer-norm 2>&1
lookup -t gpt2 2 --type-ids types 2>&1
printf 'a 1\nb 2\n' > w.txt
lookup -t w.txt 0 --input-layer 2>&1
lookup -t roberta 3 1 --type-ids types 2>&1
lookup -t roberta 3 1 2 0 --type-ids types 2>&1
printf '0 2 0\n' > bad
lookup -t roberta 3 1 2 --type-ids bad 2>&1
lookup -t gpt2 2 --input-layer --positions auto 2>&1
lookup -t gpt2 2 --start 2 2>&1
lookup -t gpt2 2 --scale 0 2>&1
lookup -t gpt2 2 --scale root 2>&1
lookup -t gpt2 2 --scale 1e39 2>&1
lookup -t gpt2 2 --input-layer --via matmul 2>&1
lookup -t roberta 2 --type-ids - 2>&1
