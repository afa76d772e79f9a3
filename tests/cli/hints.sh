# What looks like something else is told what it may have been meant as.
printf 'cat 1 2\ndog 3 4\na-b 5 6\n' > w.txt
embtool init 3 2 -o t.npy -q > init.out
try() { embtool "$@" || echo "exit $?"; }
# A file in the place of a word, a range of ids in the place of one; with --token they are words.
try lookup w.txt cat -q | cut -d ' ' -f 1
try lookup w.txt cat | cut -d ' ' -f 1
try similar w.txt cat -k 1
try lookup w.txt cat -t w.txt
for range in 0..2 0.. ..2 0...2 a..b; do
    try lookup "$range" -t w.txt
done
try similar 0..2 -t t.npy
try lookup 0..2 -t t.npy
try lookup --token 0..2 -t w.txt
# Words where ids are read.
echo cat dog | try lookup -t w.txt
echo cat dog > words
try lookup -t w.txt -i words
# A sum where a word is read.
try similar 'cat + dog - cat' -t w.txt
# A sum without blanks, but for a token that is spelled so.
try similar --expr 'dog-cat+x' -t w.txt
try similar --expr 'a-b' -t w.txt -k 1
# Types by their names elsewhere.
for type in float16 float32 float64 bfloat16 half double torch.int8 uint8 F16 float8_e4m3fn float; do
    try lookup --dtype $type cat -t w.txt 2>&1 | sed 's/expected .*;/expected ...;/'
done
try lookup --dtype floaty cat -t w.txt 2>&1 | sed 's/expected .* u64/expected ... u64/'
# The version.
embtool --version > version
embtool -V | cmp - version
try version
# Numbers alone have no tokens; whole numbers may be ids, and a header promises tokens.
printf '0.5 1 2\n0 0 0\n-1e-3 3 4\n' > matrix.txt
try lookup -t matrix.txt 0
try lookup -t matrix.txt --strict 0
printf '0 1 2\n1 3 4\n' | try lookup -t - 1
printf '2 2\n0.5 1 2\n1.5 3 4\n' | try lookup -t - 1
printf '0.5 1 2\ncat 3 4\n' | try lookup -t - cat
