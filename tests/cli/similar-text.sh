# Query, token, id and score, best first; equal scores by id, the query's own row left out. The vectors make scores plain.
printf 'east 1 0\nnorth 0 1\nfar 3 4\nwest -2 0\nfar2 6 8\n#2 -1 -1\n' > w.txt
embtool similar -t w.txt east '#1' -k 3
embtool similar -t w.txt --id 0..1 --token '#2' -k 1
embtool similar -t w.txt -k 0 --digits 3 '#5'
embtool similar -t w.txt far -k 2 --metric dot
embtool similar -t w.txt far -k 2 --metric euclidean
embtool similar -t w.txt far -k 2 --farthest
embtool similar -t w.txt --all -k 1
printf 'a b\\c\t1 0\nd\t1 0\n' > blank.txt
embtool similar -t blank.txt d
embtool similar -t blank.txt d --raw-tokens
