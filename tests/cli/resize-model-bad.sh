# What is refused for a model directory; nothing is left and the model stays as it is.
try() { echo "--- $*"; embtool resize "$@" 2>&1 > /dev/null || echo "exit $?"; }
embtool init 3 2 --arch llama --dist constant:1 -o m/ > /dev/null
cat > m/tokenizer.json <<'J'
{"added_tokens": [], "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "c": 2}}}
J
cp -r m before
try m --add-tokens x
try m --add-tokens x -o m
try m --add-tokens x -o m/in
try m --add-tokens x -o before
try m --add-tokens x -o out --in-place
try m --add-tokens x -o -
try m --add-token '' -o out
try m --add-token "$(printf 'x\377')" -o out
try m --add-tokens x --init copy:zz -o out
try m --rows 2 -o out
try m --row-map f --add-tokens x -o out
try m --vocab f --add-tokens x -o out
try m --remove-tokens a -o out
try 'm#model.embed_tokens.weight' --add-tokens x -o out
try m --rename-token a -o out
try m --rename-token a=b -o out
try m --rename-token zz=x -o out
try m --role pad -o out
try m --role pad=a --role pad=b -o out
try m --role nope=a -o out
try m --role pad=zz -o out
try m --no-tokenizer --role pad=a -o out
try m --in-place --report r --add-tokens x
embtool init 3 2 -o t.npy > /dev/null
try t.npy --rows 4 --link -o out.npy
try t.npy --rows 4 --role pad=a -o out.npy
# ids with a gap, and what --force makes of it
cat > m/tokenizer.json <<'J'
{"added_tokens": [{"id": 4, "content": "<g>", "special": true}], "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "c": 2}}}
J
try m --add-tokens x -o out
embtool resize m --add-tokens x -o filled --force
cat filled/tokenizer.json
embtool check filled
rm -r filled
embtool resize m --add-tokens x --force -n --json 2> /dev/null | grep -o '"filled":[^]]*.'
# --force without new tokens: a copy keeps the gap, in place it is filled
embtool resize m --rows 6 -o six --force -q > /dev/null 2>&1
cmp m/tokenizer.json six/tokenizer.json
embtool resize six --in-place --force -q > /dev/null 2>&1
grep -c filler_3 six/tokenizer.json
rm -r six
# two files that contradict each other
echo '{"<g>": 5}' > m/added_tokens.json
try m --add-tokens x -o out
rm m/added_tokens.json
# a single file beside an index; no tokenizer; PyTorch weights
rm m/tokenizer.json
try m --add-tokens x -o out
echo '{"metadata": {}, "weight_map": {}}' > m/model.safetensors.index.json
try m --rows 4 -o out
ls
# what cannot be read is found before anything is written, in place too
rm m/model.safetensors.index.json
printf '{"bos_token_id": 1,' > m/generation_config.json
cp m/config.json config
try m --rows 4 --in-place
cmp config m/config.json
# a name that changes hands in the same run
cp -r before named
try named --rename-token a=A --add-token a -o out
cp -r "$DATA/golden/torch2/sharded" torch
try torch --rows 9 -o out
# RoBERTa's positions begin behind the pad id, which may be written again and not changed
mkdir rob
printf '{"model_type": "roberta", "hidden_size": 2, "vocab_size": 3, "pad_token_id": 1}\n' > rob/config.json
cp before/tokenizer.json rob/
embtool init 3 2 --dist constant:1 --name roberta.embeddings.word_embeddings.weight -o rob/model.safetensors -q > /dev/null
try rob --role pad=c -o out
try rob --add-token x --role pad=x -o out
embtool resize rob --role pad=b -o rob2 -q > /dev/null && cat rob2/tokenizer_config.json
try rob --role eos=c -o rob3
