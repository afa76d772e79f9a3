# Scores of rows that are named: two by two, or all with each other. A zero row scores 0.
printf 'east 1 0\nnorth 0 1\nfar 3 4\nzero 0 0\nbad nan 0\n' > w.txt
try() { embtool similar -t w.txt "$@" || echo "exit $?"; }
try --pairs east far '#1' far zero east
try --pairs east far --metric euclidean
try --pairs east far --json
printf 'far\tnorth\nfar\tfaar\nfar\tbad\neast\teast\n' | embtool similar -t w.txt --pairs || echo "exit $?"
printf 'far\tfaar\n' | embtool similar -t w.txt --pairs --json -q || echo "exit $?"
printf 'far north\n' | embtool similar -t w.txt --pairs || echo "exit $?"
try --matrix east far --id 3
try --matrix east faar '#2'
try --matrix east far --metric dot --json
printf 'far\neast\n' | embtool similar -t w.txt --matrix -o m.tsv
cat m.tsv
try --pairs east far north
try --pairs --matrix east
try --pairs --all
try --matrix --expr 'east + far'
try --matrix -o m.npz east
try --pairs east far --match 'e*'
