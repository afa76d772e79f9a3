# One vector a line of ids, whatever its length; weights; unit rows. Means and norms can be checked by eye.
printf 'a 1 2\nb 3 -2\nc -8 6\nz 0 0\n' > w.txt
printf '0 1\n2\n\n0 1 2\n' > lines
lookup() { embtool lookup -t w.txt "$@" || echo "exit $?"; }
for how in mean sum max first last; do
    lookup -i lines --pool $how
done
lookup -i lines --pool mean --label none --normalize 2>&1
lookup -i lines --pool sum --json
lookup a c --pool mean
printf 'a\nc\n' | lookup --tokens --pool sum
lookup a q --pool sum 2>&1
lookup q --pool sum 2>&1
lookup a c z --normalize 2>&1
printf '0\n1\n' | lookup --pool sum                   # two lines, two vectors
printf '[[0, 1], [], [2]]' | lookup --pool sum
printf '2 0\n' | lookup --pool sum --dtype f16

printf '1 0.5\n0,-1\n' > weights
lookup -i lines --pool sum --weights weights
lookup -i lines --pool mean --weights weights
show() { python3 "$DATA/../cli/show.py" "$@"; }
lookup -i lines --pool mean -o a.npy
lookup -i lines --pool mean -O npy | cmp - a.npy
lookup a b --pool mean -o b.npy
printf '' | lookup --pool mean -o c.npy
show a.npy b.npy c.npy
embtool similar -t w.txt --vectors a.npy -k 1 2>&1

printf '1 2\n' > few
lookup -i lines --pool sum --weights few 2>&1
printf '1 2 x 4\n' > word
lookup -i lines --pool sum --weights word 2>&1
printf '1 2 inf 4\n' > inf
lookup -i lines --pool sum --weights inf 2>&1
lookup -i lines --pool max --weights weights 2>&1
lookup -i lines --weights weights 2>&1
lookup -i lines --pool mean --pad-id 0 -O npy 2>&1
lookup -i lines --pool mean --label token 2>&1
lookup a --pool mean --via matmul 2>&1
lookup -i lines --pool average 2>&1
