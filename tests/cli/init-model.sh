# init: model directories. What is one, what is printed, what is in it, which bytes; what is refused, and that nothing is left of it.
try() { embtool init "$@" || echo "exit $?"; }
try 10 4 --positions 6 --untied -o tiny
ls tiny; cat tiny/config.json
head -c 8 tiny/model.safetensors | od -An -t u8; tail -c +9 tiny/model.safetensors | head -c 264; echo
try --preset andrea-120m --dry-run -o x
try --preset sophia --json --dry-run -o x --dtype bf16 --pad-to-multiple-of 100000
try --preset word2vec-google --dry-run -o x.npy
# same seed, same bytes, whatever -j; each table has numbers of its own
try 300 64 --positions 300 --untied --seed 3 -j 1 -o one/ > out
try 300 64 --positions 300 --untied --seed 3 -j 2 -o two/ > out
try 300 64 --positions 300 --untied --seed 4 -o three/ > out
cmp one/model.safetensors two/model.safetensors && cmp one/config.json two/config.json
cmp -s one/model.safetensors three/model.safetensors || echo another seed
for t in transformer.wte transformer.wpe lm_head; do embtool lookup 0 -t one#$t.weight --label none | sha256sum; done | sort -u | wc -l
try 300 64 --seed 3 -o plain.safetensors > out
for t in one plain.safetensors; do embtool lookup -t $t --id 0..299 | sha256sum; done | uniq | wc -l
# which names, by --arch; which output is a directory
for arch in gpt2 llama mistral qwen2 gpt_neox bert distilbert; do
    embtool init 3 2 --arch $arch --untied -o $arch -q --json | sed 's/,"dtype.*//'
    embtool stats $arch | grep '^tensor'; embtool stats $arch --head | grep '^tensor'
done
mkdir empty full; touch full/x
try 3 2 -o empty > out; ls empty
try 3 2 --arch bert --padding-idx 1 --dist constant:1 -o t.safetensors > out; embtool lookup 0 1 -t t.safetensors
try 3 2 --positions 2 -o -  -O safetensors | wc -c
# a tokenizer
mkdir tok; printf '{"a": 0, "b": 1, "c": 4}' > tok/vocab.json; printf 'x' > tok/other; printf '#version\n' > tok/merges.txt
try 2 --tokenizer tok -o withtok | head -n 1; ls withtok; embtool lookup c -t withtok | cut -d ' ' -f 1
try 8 2 --tokenizer tok -o padded | head -n 1
try 4 2 --tokenizer tok -o x
try 2 --tokenizer tok -o x.safetensors
try 2 --tokenizer empty -o x
# like
try --like withtok --seed 0 -o like > out; diff -r withtok like && echo equal
try --like withtok --dtype bf16 -o like --force | grep dtype; grep dtype like/config.json
try --like tok -o x
try 3 2 --like withtok -o x
try --like withtok --untied -o x
# refused; nothing is left
try 3 2 -o tiny
try 3 2 -o full --force
try 3 2 -o x/y/z --arch bert
try 3 2 --positions 4 --arch llama -o x
try 3 2 --positions 0 -o x
try 3 2 --arch gpt5 -o x
try --preset gpt5 -o x
try 3 2 --preset gpt2 -o x
try --preset word2vec-google -o x
try 3 2 --positions 2 -o x.npy
try 3 2 --arch gpt2 --name wte -o x
try 3 2 -o tiny -O npy
try 3 2 --tokens tok/other -o x/
try 3 2 --arch gpt2 --dtype f16 --std 1e9 -o x
try 3 2 --arch gpt2 --dtype i8 -o x
try 3 2 -o .
try 3 2 -o no.gguf/ | tail -n 1
ls -A
