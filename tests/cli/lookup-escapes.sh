# A token never breaks its line: blanks, tabs, controls and bytes that are no UTF-8 are escaped.
printf 'a b 1 2\na\\b 3 4\nx\377y 5 6\nt\001u 7 8\n\303\251\302\233 9 0\n' > w.txt
embtool lookup -t w.txt 0 1 2 3 4
embtool lookup -t w.txt --raw-tokens 0 1 | od -An -c
# A note says so where a file gets them, which another program may read.
embtool lookup -t w.txt 0 1 3 4 -o w.out
embtool lookup -t w.txt 0 1 -o raw.out --raw-tokens
embtool lookup -t w.txt 0 -O json -o w.json
printf 'cat 1 2\n' | embtool lookup -t - 0 -o plain.out
