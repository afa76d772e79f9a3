# What init refuses before a file exists, what it prints, and which bytes zeros, constants and the identity are.
try() { embtool init "$@" || echo "exit $?"; }
printf 'a\nb\nc\n' > names
try 4 2
try 4 -o x.npy
try 4 2 -o x.gguf
try 4 2 -o x.txt
try 0 2 -o x.npy
try 4294967297 4294967296 -o x.npy
try 4 2 --std 0 -o x.npy
try 4 2 --padding-idx 4 -o x.npy
try 4 2 --dist constant -o x.npy
try 4 2 --pad-to-multiple-of 0 -o x.npy
try --tokens names 2 2 -o x.bin
try 4 2 -o x.npy --dtype bf16
try 4 2 -o x.safetensors --dtype f8_e4m3 --std 1000
try 4 2 -o x.safetensors --dtype f16 --std 1e9
try 4 2 -o x.npy --dtype i8
try 5 2 -o x.gguf -O raw --dry-run --pad-to-multiple-of 4
try 2 2 --dist identity -o x.gguf -O raw --json
od -An -t f4 x.gguf
try 3 2 --dist constant:0.5 --dtype f16 --padding-idx 1 -o - -O raw | od -An -t x2
try --tokens names 2 --dist zeros -o words.txt
cat words.txt
ls
# A table larger than any disk is refused at once (16 EB less a bit; what it is called depends on the disk).
embtool init 1000000000 2000000000 -o huge.npy 2> said || echo "exit $?"
grep -c -e 'No space left on device' -e 'File too large' said
