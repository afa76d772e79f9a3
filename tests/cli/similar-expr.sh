# Sums of rows: unit terms under cosine, weights, signs, tokens that hold + - and * themselves.
printf 'east 2 0\nnorth 0 5\nfar 3 4\na-b -1 0\nc*d 0 -1\n3*x 1 -1\n' > w.txt
try() { embtool similar -t w.txt -k 1 --include-query "$@" || echo "exit $?"; }
try --expr 'east + north' --digits 4
try --expr 'east + north' --raw-terms --digits 4
try --expr '-a-b' --metric dot
try --expr '- a-b + 2*c*d'
try --expr '-1*a-b - -2*north' --metric euclidean
try --expr '#0 + #3 + #1'
try --expr '3*x' --metric dot
for bad in '' ' ' 'east north' 'east -' '+' 'east + - north' '- - east'; do
    try --expr "$bad"
done
try --expr 'east - east'
try --expr 'east - #6'
