# Lines of several lengths: refused, padded, or values and offsets; an empty line is an empty sequence.
printf 'cat 1 2\ndog 3 4\nfox -0.5 0.25\n' > w.txt
show() { python3 "$DATA/../cli/show.py" "$@"; }
printf '0 1 2\n1\n' > ids
embtool lookup -t w.txt -i ids -o x.npy || echo "exit $?"
ls
embtool lookup -t w.txt -i ids --pad-id 2 -o p.npy
printf '0 1\n\n2\n' | embtool lookup -t w.txt --ragged -o r.safetensors
embtool lookup -t w.txt -i ids --ragged -O npz | cat > r.npz
show p.npy r.safetensors r.npz
embtool lookup -t w.txt -i ids --pad-id 3 -o q.npy || echo "exit $?"
embtool lookup -t w.txt -i ids --ragged -o q.npy || echo "exit $?"
embtool lookup -t w.txt -i ids
