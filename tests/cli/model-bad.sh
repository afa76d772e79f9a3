# What a model directory may lack or hold: each is said by name.
ln -s "$DATA/golden" g
m=g/hf
try() { embtool lookup "$@" 0 || echo "exit $?"; }
try -t "$m/gpt2_tied" --head --tensor transformer.wpe.weight
try -t "$m/gpt2_tied#no.such"
try -t "$m/gpt2_tied" --format npy
try -t "g/model2vec/plain" --head
mkdir d
try -t d
printf '{"weight_map": {"a": "../x.safetensors"}}' > d/model.safetensors.index.json
try -t d
printf '{"weight_map": {"a": "x.safetensors"}}' > d/model.safetensors.index.json
try -t d
cp "$m/bert_mlm/model.safetensors" d/x.safetensors
try -t d
cp "$m/bert_mlm/model.safetensors" d
printf '{"vocab_size":' > d/config.json
try -t d
printf '{"vocab_size": 81, "x": Infinity}' > d/config.json
try -t d | cut -d ' ' -f 1-2
printf '{' > d/tokenizer.json
try -t d
try -t d --label id | cut -d ' ' -f 1-2
HF_HOME=h HF_HUB_OFFLINE=1
export HF_HOME HF_HUB_OFFLINE
try -t hf://org/name
try -t hf://org/../name
