# A model directory is a table everywhere; #tensor, --head and a file inside name its parts.
ln -s "$DATA/golden" g
m=g/hf
try() { embtool "$@" || echo "exit $?"; }
try lookup -t "$m/gpt2_tied" 262 o ' o' | cut -d ' ' -f 1-3
try lookup -t "$m/gpt2_tied" 262 --pieces text | cut -d ' ' -f 1-3
try lookup -t "$m/gpt2_tied/model.safetensors" --label id ' o' | cut -d ' ' -f 1-3
try lookup -t "$m/gpt2_tied#transformer.wpe.weight" 3 | cut -d ' ' -f 1-3
try lookup -t "$m/llama_sharded" --head 3 | cut -d ' ' -f 1-3
try lookup -t "$m/llama_sharded#lm_head.weight" 3 | cut -d ' ' -f 1-3
try lookup -t "$m/bert_mlm" --head 3 | cut -d ' ' -f 1-3
try lookup -t "$m/bert_mlm" --json 60 | cut -d , -f 1-3
try similar -t "$m/t5_padded" king -k 2 --pieces text | cut -f 1-3
try similar -t "$m/t5_padded" king -k 1 --json | cut -d , -f 1-7
try stats "$m/gpt_neox_untied" | grep -E '^(tensor|tied|model_params|share|tokens|unowned)'
try stats "g/model2vec/weights_mapping" --json | tr , '\n' | grep -E '"(rows|tokens|tied|model_params|share)'
