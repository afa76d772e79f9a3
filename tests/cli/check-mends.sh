# Each printed command mends what its line says: when all were run, nothing is left to be said.
mends() {
    embtool check m -q > lines 2> /dev/null || true
    cut -f 2- lines
    cut -f 3 lines > commands
    sh -eu commands > /dev/null 2>&1
    embtool check m -q
}
model() { # m: three tokens, of which the last is $1, as JSON
    rm -rf m
    embtool init 3 2 --arch llama --dist constant:1 -o m/ -q > /dev/null
    printf '{"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "%s": 2}}}\n' "$1" > m/tokenizer.json
    printf '{"eos_token": "%s"}\n' "$1" > m/tokenizer_config.json
}
config() { printf '{"model_type": "llama", "hidden_size": 2, "tie_word_embeddings": true, %s}\n' "$1" > m/config.json; }

# a size at the top, in the text model, in both
model c; config '"vocab_size": 9, "text_config": {"vocab_size": 3}'; mends
model c; config '"vocab_size": 3, "text_config": {"vocab_size": 9}'; mends
model c; config '"vocab_size": 8, "text_config": {"vocab_size": 9}'; mends
# ids: past the end, of another token, of a token with quotes, of a long one
model c; config '"vocab_size": 3, "eos_token_id": 99'; mends
model c; config '"vocab_size": 3, "eos_token_id": 1'; mends
model c; config '"vocab_size": 3, "text_config": {"eos_token_id": 1}'; mends
model "it's \$HOME \`x\`"; config '"vocab_size": 3, "eos_token_id": 1'; mends
model "$(printf '<%0120d>' 7)"; config '"vocab_size": 3, "eos_token_id": 1'; mends
# a token past the end of the table, and an id that is its
model c; config '"vocab_size": 3'
sed -i 's/"c": 2/"c": 2, "d": 3/' m/tokenizer.json; mends
model c; config '"vocab_size": 3, "eos_token_id": 3'
sed -i 's/"c": 2/"c": 2, "d": 3/' m/tokenizer.json
echo '{"eos_token": "d"}' > m/tokenizer_config.json; mends
# the sum of an index
model c; config '"vocab_size": 3'
mv m/model.safetensors m/one.safetensors
echo '{"metadata": {"total_size": 7}, "weight_map": {"model.embed_tokens.weight": "one.safetensors"}}' \
    > m/model.safetensors.index.json
mends; cat m/model.safetensors.index.json
# the token of a role that is in no vocabulary
model c; config '"vocab_size": 3'
echo '{"pad_token": "<p d>", "eos_token": "c"}' > m/tokenizer_config.json; mends
# two files that do not agree, and the tokenizer does with one of them
model c; config '"vocab_size": 3, "eos_token_id": 1'
echo '{"eos_token_id": 2}' > m/generation_config.json; mends
# two files that give a role another token
model c; config '"vocab_size": 3, "eos_token_id": 2'
echo '{"eos_token": "b"}' > m/special_tokens_map.json; mends
# a directory whose name begins like an option
model c; config '"vocab_size": 9'
mv m ./-d; embtool check -- -d > lines || true
cat lines; cut -f 3 lines > commands; sh -eu commands > /dev/null 2>&1; embtool check -- -d
# an id in a list stays where it is, whatever a command would say
model c; config '"vocab_size": 3, "eos_token_id": [2, 99]'
embtool check m || echo "exit $?"
