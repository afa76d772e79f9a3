# What is refused: one line each, nothing written.
try() { embtool resize "$@" || echo "exit $?"; }
late() { embtool resize "$@" > plan || echo "exit $?"; }
printf '2 2\na 1 2\nb 3 4\n' > t.vec
embtool init 2 2 -o t.npy > made
embtool init 2 3 -o wide.npy > made
try
try t.vec
try t.vec --rows 3
try t.vec u.vec -o o.vec
try t.vec -o o.vec --in-place
try - --in-place < t.vec
try . --add-tokens x -o o
try t.vec --add-tokens x,,y -o o.vec
try t.vec --add-token '' -o o.vec
try t.vec --rows 1 -o o.vec
try t.vec --rows 0 -o o.vec
try t.vec --rows 3 -o o.vec
try t.vec --pad-to 8 -o o.vec
try t.vec --pad-to 0 -o o.vec
try t.vec --add-tokens x --rows 2 --shrink -o o.vec
try t.vec --remove-tokens a,b -o o.vec
try t.vec --remove-tokens nope -o o.vec
try t.vec --remove-tokens '#2' -o o.vec
try t.vec --vocab t.vec -o o.vec
try t.vec --add-tokens x -o o.npy
late t.vec --add-token 'x
y' -o o.vec -q
printf 'a\na\n' > order
try t.vec --reorder order -o o.vec
try t.vec --reorder order --remove-tokens a -o o.vec
try t.vec --add-tokens x --init wild -o o.vec
try t.vec --add-tokens x --init subword -o o.vec
try t.vec --add-tokens x --init mean:1 -o o.vec
try t.vec --add-tokens x --init normal:-1 -o o.vec
try t.vec --add-tokens x --init copy: -o o.vec
try t.vec --add-tokens x --init copy:nope -o o.vec
try t.vec --add-tokens x --init 'copy:#2' -o o.vec
try t.vec --add-tokens x --init mean-of:a+ -o o.vec
try t.vec --add-tokens x --init from:wide.npy -o o.vec
try t.vec --add-tokens x,y,z --init from:t.npy -o o.vec
try t.vec --add-tokens x --init from:none.npy -o o.vec
try t.npy --vocab none -n
try none.npy -n
try t.npy --rows 3 --in-place --report r
try t.npy --add-tokens x -o o.npy
try t.npy --rows 18446744073709551615 -o o.npy
late t.npy --rows 3 --save-tokens o -o o.npy
late t.npy --rows 3 -o t.npy
late t.npy --rows 3 --row-map made -o o.npy
try t.npy --rows 3 --row-map o.npy -o o.npy --force
try t.npy --rows 3 --row-map ./t.npy -o o.npy --force
try t.vec --add-tokens x --save-tokens t.vec --in-place --force
try t.vec --add-tokens x --save-tokens s --row-map s -o o.vec
late t.npy --rows 3 -o no/such/dir.npy
printf 'a nan 2\n' > nan.txt
late nan.txt --add-tokens x -o o.txt
ls
# what could not be written is not planned either
cp "$DATA/golden/npz/deflate.npz" zip.npz
for o in "-n" "-o out.npz"; do
    embtool resize zip.npz --rows 100 $o || echo "exit $?"
done
embtool init 3 2 -o old.npy -q > /dev/null
embtool resize old.npy --rows 4 -n -o old.npy || echo "exit $?"
embtool resize old.npy --rows 4 -n -o old.npy --force | head -n 1
# a blank behind a comma is said, as it may not be meant; a token alone is meant as it is
printf 'a 1\nb 2\n' > blank.txt
embtool resize blank.txt --add-tokens 'x, y,z ' -n | grep ^add
embtool resize blank.txt --add-tokens ' y' -n | grep ^add
