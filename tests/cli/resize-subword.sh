# --init subword: a new row is the mean of the rows of the pieces that the tokenizer splits its token's text into.
export LC_ALL=C.UTF-8
printf 'a 1 2\nb 3 4\nc 5 9\n#d 7 7\n? 0 8\n<s> 8 8\n' > t.txt
mkdir m
embtool convert t.txt --lossy -o t.npy -q > made
embtool convert t.npy --name model.embed_tokens.weight -o m/model.safetensors -q > made
echo '{"model_type": "llama", "hidden_size": 2, "vocab_size": 6, "tie_word_embeddings": true}' > m/config.json
cat > m/tokenizer.json <<'J'
{
  "version": "1.0",
  "added_tokens": [
    {"id": 5, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}
  ],
  "normalizer": {"type": "Lowercase"},
  "pre_tokenizer": {"type": "WhitespaceSplit"},
  "model": {"type": "WordPiece", "unk_token": "?", "continuing_subword_prefix": "#", "max_input_chars_per_word": 9, "vocab": {"a": 0, "b": 1, "c": 2, "#d": 3, "?": 4}}
}
J
# the rows of `a #d`, of `a <s> b c`, of `c` alone, and padding: the mean of all
embtool resize m --add-tokens 'AD,a<s>b  c,<s>,C' --pad-to 10 --init subword -o out
embtool lookup -t out AD 'a<s>b  c' C --id 9
embtool resize m --add-tokens 'AD' --init subword -n --json | sed 's/.*"added"/"added"/; s/,"old_bytes.*//'
# unknown as a whole, and in part
embtool resize m --add-token 'x' --add-token 'a x' --init subword -n | grep ^pieces
# what cannot be split
try() { embtool resize m --init subword -n "$@" || echo "exit $?"; }
try --add-token '  '
try --add-token "$(printf 'a\377')"
sed -i 's/Lowercase/Uppercase/' m/tokenizer.json
try --add-token x
try --add-tokens a | grep ^present
rm m/tokenizer.json
try --rows 8
try --rows 8 --init zeros | grep ^init
printf 'a\nb\nc\n' > m/vocab.txt
try --add-token x
embtool resize t.txt --add-token x --init subword -n || echo "exit $?"
