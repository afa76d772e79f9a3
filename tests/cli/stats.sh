# The figures of a table that can be counted by hand, as text, as JSON and as a gate.
try() { embtool stats "$@" || echo "exit $?"; }
printf 'a 3 4\nb 0 0\nc 6 8\nd 3 4\ne -5 12\nf nan 1\n' > t.txt
try t.txt --rows ids --columns
try t.txt --json --rows ids
try t.txt -q --fail-on zero,duplicate > /dev/null
try t.txt -q --fail-on unowned -o figures
cat figures
printf 'x\n\ny\n' > names
try --format raw --shape 4,1 --input-dtype u8 --offset 2 --vocab names t.txt --rows ids
try t.txt --fail-on zeros
try t.txt more.txt
ls
# A gate without an answer, and names that stand for another format.
try --format raw --shape 4,1 --input-dtype u8 --offset 2 t.txt --fail-on unowned
try t.txt -o figures.npz
try t.txt --json -o figures.npy
try t.txt -o figures.csv
try t.txt -o figures.json && cut -c 1-30 figures.json
