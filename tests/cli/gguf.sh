# Models in GGUF files: spellings of tokens, their text, parts and directories, what a missing part costs.
gguf="$DATA/golden/gguf"

for word in cat '▁cat' ' cat' '#7'; do
    embtool similar -k 1 -t "$gguf/model_llama.gguf" "$word"
done
embtool similar --pieces text -q -k 3 -t "$gguf/model_gpt2_tied.gguf" ' the'
embtool lookup --token '<0xFF>' --json -t "$gguf/model_llama.gguf" | cut -d , -f 1-3
embtool lookup --token 'Ġt' -t "$gguf/model_gpt2_big_endian.gguf" | cut -d ' ' -f 1,2

mkdir parts half
cp "$gguf"/split-0000[12]-of-00002.gguf parts
cp parts/split-00001-of-00002.gguf half
for table in parts parts/split-00001-of-00002.gguf parts/split-00002-of-00002.gguf half; do
    embtool stats -t "$table" | grep -E '^(path|rows|tokens|tied|model_params)'
done
embtool lookup --head b -t parts | cut -d ' ' -f 1,2
embtool lookup 1 -t 'parts#output.weight' | cut -d ' ' -f 1,2
embtool lookup b -t half | cut -d ' ' -f 1,2
embtool lookup --head b -t half || echo "exit $?"

# a config.json beside it changes nothing; weights of another kind come first
echo '{"model_type": "gpt2", "vocab_size": 99}' > half/config.json
embtool lookup b -t half | cut -d ' ' -f 1,2
embtool init 5 2 --dist identity -o half/model.safetensors > /dev/null
embtool lookup 1 --label id -t half

# tokens of a GGUF file for another table
embtool lookup c -t half/model.safetensors --vocab parts/split-00001-of-00002.gguf
