# An output that exists stays as it is; a device that is full is an error; formats by name and extension.
printf 'cat 1 2\ndog 3 4\nfox -0.5 0.25\n' > w.txt
try() { embtool lookup -t w.txt cat "$@" || echo "exit $?"; }
echo keep > x.npy
try -o x.npy
cat x.npy
try -o x.npy --force
python3 "$DATA/../cli/show.py" x.npy
embtool lookup -t w.txt cat > /dev/full || echo "exit $?"
embtool lookup -t w.txt cat -O npy > /dev/full || echo "exit $?"
try -o /dev/full
try -o no/such/dir.txt
try -o y.bin
try --json -O npy
try -o y.out
cat y.out
try -o - -O text
try -o z.npy --dtype bf16
ls
