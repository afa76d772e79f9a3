# Tables that need a word of explanation: raw files, a vocabulary beside, fewer rows, one tensor of several.
printf '\000\000\200\077\000\000\000\100\000\000\100\100\000\000\200\100' > t.raw
printf 'cat\ndog\n' > vocab
try() { embtool lookup "$@" || echo "exit $?"; }
try -t t.raw --format raw --shape 2,2 --input-dtype f32 1
try -t t.raw --format raw --shape ,2 --input-dtype f32 --vocab vocab dog
try -t t.raw --format raw --shape ,2 --offset 8 --input-dtype f32 0
try -t t.raw --format raw --shape ,4 --input-dtype bf16 1
try -t t.raw --format raw --shape ,2 --input-dtype f32 --limit 1 1
try -t t.raw --format raw --shape ,2 --input-dtype f32 cat
try -t t.raw --format raw --shape ,2 --input-dtype f32 --label token 0
try -t t.raw --format raw --shape ,3 --input-dtype f32 0
try -t t.raw 0
try -t "$DATA/golden/safetensors/tied.safetensors#lm_head.weight" 0 -o x.npy
python3 "$DATA/../cli/show.py" x.npy | cut -c 1-10
# a tokenizer's file is known by what is in it
printf '{"cat": 1}\n' > vocab.json
cp vocab.json words
for f in vocab.json words; do try -t t.raw --format raw --shape 2,2 --input-dtype f32 --vocab $f cat; done
