# The list of commands and each command's text fit 80 columns; all ways to ask agree; a full device is told.
embtool --help > list
embtool help | cmp - list
embtool -h | cmp - list
grep -c '^  lookup ' list
for c in $(sed -n 's/^  \([a-z]*\)  .*/\1/p' list); do
    embtool $c -h > a
    embtool $c --help | cmp - a
    embtool help $c | cmp - a
    embtool $c --quiet --help ignored | cmp - a
    grep -q "^usage: embtool $c " a
    grep -q -e '-h, --help' a
    awk 'length > 80 { print "too long: " $0 }' a list
done
embtool --version | sed 's/[0-9][0-9]*/N/g; s/  kernels .*//; s/ yes/ no/g; s/openblas/no/; s/libcurl/no/; s/driver/no/'
embtool --help > /dev/full || echo "exit $?"
embtool --version >&- || echo "exit $?"
embtool 2> err || echo "exit $?"
sed 1d err | cmp - list
head -n 1 err
