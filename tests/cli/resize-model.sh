# A model directory: spare rows, names and roles, in place, links.
export LC_ALL=C
model() { # m: 3 tokens, 4 rows, head of its own
    rm -rf m; printf 'a\nb\nc\n' > words
    embtool init 4 2 --arch llama --untied --dist constant:1 -o m/ -q > /dev/null
    cat > m/tokenizer.json <<'J'
{
  "version": "1.0",
  "added_tokens": [
    {"id": 2, "content": "<|reserved_0|>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}
  ],
  "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"}
}
J
    echo '{"pad_token": null}' > m/tokenizer_config.json
}
model
embtool resize m --add-tokens '<|x|>,y,a' -o out
embtool lookup -t out '<|x|>' y
cat out/tokenizer.json out/tokenizer_config.json
grep vocab_size out/config.json
embtool check out

# the same in place gives the same bytes; a second run has nothing to do
embtool resize m --add-tokens '<|x|>,y,a' --in-place -q > /dev/null
diff -r m out
embtool resize m --add-tokens '<|x|>,y,a' --in-place | tail -n 1

# names and roles; a token that holds an equals sign
model
embtool resize m --rename-token '<|reserved_0|>=<|t=1|>' --role pad='<|t=1|>' -o named --json
cat named/tokenizer.json named/tokenizer_config.json
grep pad_token_id named/config.json
embtool resize named --rename-token '<|t=1|>=<|u|>' --special -o again | grep rename

# special or not; no tokenizer; a file inside stands for the directory
embtool resize m --add-token y --special -n | grep ^add
embtool resize m --add-tokens '<|x|>' --no-special -n | grep ^add
embtool resize m/model.safetensors --pad-to 8 --no-tokenizer -o padded | grep -E '^(rows|padding|file)'

# links are new names of the same files, and only where nothing changes
embtool resize m --add-tokens y --link -o linked | grep file
[ m/generation_config.json -ef linked/generation_config.json ] || [ ! -e m/generation_config.json ]

# a dry run writes nothing
embtool resize m --add-tokens y --in-place --dry-run | grep keep || true
ls
# what would go stale
mkdir m/onnx; echo > m/x.gguf; echo > m/notes.txt
embtool resize m --add-tokens y -n > /dev/null
# provenance: files that changed
embtool resize m --add-tokens y -o reported --report r > /dev/null 2>&1
sed 's/.*"inputs"/"inputs"/; s/"sha256":"[0-9a-f]*"/SHA/g' r

# sentence-transformers keeps the model in a folder; a second run has nothing to do there either
model
mkdir st; mv m st/0_Transformer; echo '[]' > st/modules.json; rm st/0_Transformer/tokenizer_config.json
embtool resize st --add-tokens '<|x|>,y' --role pad='<|x|>' -o folder | grep file
(cd folder; echo *)
embtool check folder
embtool resize st --add-tokens '<|x|>,y' --role pad='<|x|>' --in-place -q > /dev/null
diff -r st folder
embtool resize st --add-tokens '<|x|>,y' --in-place | tail -n 1
