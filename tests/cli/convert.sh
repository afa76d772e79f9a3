# formats, types, tokens beside a table, chosen rows, what is lost, standard output
printf '3 2\ncat 0.1 -0\nNew York 1 2\nowl 70000 0\n' > a.vec
embtool convert a.vec a.safetensors
cat a.vocab.txt
tail -c +9 a.safetensors | head -c 128
echo
embtool lookup -t a.safetensors owl 'New York'
embtool convert a.safetensors - --to csv | tr -d '\r'
embtool convert a.safetensors - --to text --separator tab --header yes
embtool convert a.vec a.bin || echo "exit $?"
embtool convert a.vec a.bin --lossy --json
embtool convert a.bin - --to text --limit 2
embtool convert a.vec h.npy --dtype f16 --lossy -n
embtool convert a.vec h.npy --dtype f16 --lossy
embtool lookup -t h.npy --id 0..2
embtool convert a.vec t.tsv -q
cat t.tsv t.metadata.tsv
# rows: ids and tokens, repeated; numbers as tokens
printf '2\nNew York\n2\n#0\n' > list
embtool convert a.vec - --to text --select list --normalize
printf '7 1 1\n0 2 2\n' > digits.txt
printf '0\n7\n' > list
embtool convert digits.txt - --to text --select list --header no || echo "exit $?"
embtool convert digits.txt - --to text --select-tokens list --header yes
# tokens that no line holds
printf '{"a\\nb":1,"":0}' > odd.json
embtool convert h.npy odd.safetensors --vocab odd.json --report r.json
cat odd.vocab.json
grep -c '"path"' r.json
embtool lookup --json -t odd.safetensors 0 1 2
# the file beside is gone; one of that name that the table does not speak of means nothing
mv odd.vocab.json other.vocab.json
embtool lookup -t odd.safetensors 2
embtool init 2 2 -o plain.safetensors > /dev/null
cp a.vocab.txt plain.vocab.txt
embtool stats plain.safetensors --json | grep -c '"tokens":null'
# replaced together, and nothing without --force
embtool convert digits.txt a.safetensors || echo "exit $?"
embtool convert digits.txt a.safetensors --force > /dev/null
cat a.vocab.txt
embtool convert < a.vec - - --to word2vec-text --dtype f64
# a pipe has no file beside it
mkfifo p.safetensors
cat p.safetensors > piped & embtool convert a.vec p.safetensors --lossy -q > /dev/null; wait
embtool ls piped; ls p.*
