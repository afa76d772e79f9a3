# [n, D]; [B, L, D] for lines of one length; lines of one id are one sequence; no ids give [0, D].
printf 'cat 1 2\ndog 3 4\nfox -0.5 0.25\n' > w.txt
show() { python3 "$DATA/../cli/show.py" "$@"; }
echo '0 2 1' | embtool lookup -t w.txt -O npy | show -
printf '0 2\n1 1\n' | embtool lookup -t w.txt -O npy | show -
printf '0\n2\n' | embtool lookup -t w.txt -O npy | show -
printf '[[0, 1],\n [2, 2]]\n' | embtool lookup -t w.txt -o a.npy
printf '0,1\n\n2,2\n' | embtool lookup -t w.txt -o b.safetensors
printf '[0,1]\n[2,2]' | embtool lookup -t w.txt -o c.npz
printf '' | embtool lookup -t w.txt -o d.npy
embtool lookup -t w.txt -o e.npy cat 2 --dtype f16
embtool lookup -t w.txt -o f.raw cat 2 --dtype f64
show a.npy b.safetensors c.npz d.npy e.npy
od -An -v -tf8 f.raw
# a name of a descriptor is written through, whatever it is open on
printf '0 2\n1 1\n' | embtool lookup -t w.txt -O npy -o /dev/stdout > g.npy
printf '0 2\n1 1\n' | embtool lookup -t w.txt -O npz -o /dev/fd/1 > h.npz
show g.npy h.npz
