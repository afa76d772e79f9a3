# A list of tokens as some editors write it begins with a byte order mark, which is no part of the first.
printf 'cat 1 2\ndog 3 4\n\357\273\277 5 6\n' > w.txt
printf '\357\273\277cat\ndog\n' > list
embtool lookup -t w.txt --tokens-file list
embtool lookup -t w.txt --tokens < list
embtool lookup -t w.txt --tokens-file list -q
embtool resize w.txt --keep-tokens list -o - -q
# alone in a line it is a token; later ones are what they are
printf '\357\273\277\n' | embtool lookup -t w.txt --tokens
printf 'dog\n\357\273\277cat\n' | embtool lookup -t w.txt --tokens || echo "exit $?"
# what has no end is refused, and so is a line that no token is
embtool lookup -t w.txt --tokens-file /dev/zero || echo "exit $?"
embtool resize w.txt --tokens-file /dev/zero -o x.txt || echo "exit $?"
{ echo dog; head -c 17000000 /dev/zero; } | embtool similar -t w.txt -k 1 || echo "exit $?"
ls
