# Which rows may answer: by pattern, by id, by score, by name; and around another center.
printf 'east 1 0\nnorth 0 1\nfar 3 4\nwest -2 0\nnortheast 1 1\n' > w.txt
try() { embtool similar -t w.txt --digits 4 "$@" || echo "exit $?"; }
try far --match 'n*'
try far --match '?[ae]*t'
try far --match '*xyz'
try far --exclude north --exclude '#4'
try far --exclude nort -k 1
try far --restrict 2
try far --min-score 0.8
try far --min-score 0 --farthest
try far --include-query -k 2
try --expr 'far + north' -k 1
try --vectors w.txt -k 1
printf 'a 3 1\nb 1 3\nc 5 5\n' > c.txt
embtool similar -t c.txt a --center
embtool similar -t c.txt --expr 'a + b' --center --include-query -k 1
