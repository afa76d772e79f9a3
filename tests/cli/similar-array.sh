# Arrays ids and scores [Q, k]: -1 and NaN where there is no hit; no file where a query cannot be answered.
printf 'east 1 0\nnorth 0 1\nfar 3 4\nzero 0 0\nwest -2 0\n' > w.txt
show() { python3 "$DATA/../cli/show.py" "$@"; }
embtool similar -t w.txt far east -k 2 -o a.npz
show a.npz
embtool similar -t w.txt far catt -k 2 --min-score 0.7 -o a.safetensors || echo "exit $?"
show a.safetensors
printf 'far\neast\n' | embtool similar -t w.txt -k 1 -o b.npz
show b.npz
printf 'far\neast\n' | embtool similar -t w.txt -k 1 -O safetensors | show -
printf 'far\neast\n' | embtool similar -t w.txt -k 1 -O npz -o /dev/stdout > through.npz
show through.npz
embtool similar -t w.txt --all -k 0 --restrict 2 -o all.npz
show all.npz
embtool similar -t w.txt far -o a.npz || echo "exit $?"
embtool similar -t w.txt far zero -o z.npz || echo "exit $?"
embtool similar -t w.txt far '#5' -o z.txt || echo "exit $?"
embtool similar -t w.txt far -o z.npy || echo "exit $?"
embtool similar -t w.txt far -k 1 -o t.txt
cat t.txt
embtool similar -t w.txt far > /dev/full || echo "exit $?"
ls
