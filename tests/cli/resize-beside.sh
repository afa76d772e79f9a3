# tokens that lie in a file beside the table go with it: elsewhere, in place, and under --force alone
printf '3 2\ncat 0.5 -0\nNew York 1 2\nowl 7 0\n' > a.vec
embtool convert a.vec a.safetensors -q > /dev/null
embtool resize a.safetensors --add-tokens fox -o b.safetensors
cat b.vocab.txt
embtool lookup -t b.safetensors fox owl
rm b.safetensors
embtool resize a.safetensors --add-tokens fox -o b.safetensors > /dev/null || echo "exit $?"
cat a.vocab.txt
embtool resize a.safetensors --remove-tokens cat --in-place --json
cat a.vocab.txt
embtool lookup -t a.safetensors owl
# what cannot be kept consistent is refused, and nothing is there
embtool resize a.safetensors --rows 4 -o - || echo "exit $?"
embtool resize a.safetensors --rows 4 -o a.x --force > /dev/null || echo "exit $?"
embtool resize a.safetensors --add-token "$(printf 'x\ny')" -o c.safetensors > /dev/null || echo "exit $?"
mv a.vocab.txt away
embtool resize a.safetensors --rows 4 -o c.safetensors > /dev/null || echo "exit $?"
ls
embtool resize a.safetensors --vocab away --rows 4 -o c.safetensors -q > /dev/null
cat c.vocab.txt
