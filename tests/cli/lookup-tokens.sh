# A token a line; one that is not there is named with its neighbours, and the others are answered.
printf 'cat 1 2\ndog 3 4\nfox -0.5 0.25\n' > w.txt
printf 'dog\ncatt\r\nfox\n' | embtool lookup -t w.txt --tokens || echo "exit $?"
printf 'fox' > list
embtool lookup -t w.txt --tokens-file list
printf '2019 1 2\n' > years.txt
embtool lookup -t years.txt --token 2019
embtool lookup -t years.txt 2019 || echo "exit $?"
embtool lookup -t w.txt dog catt -o x.npy || echo "exit $?"
embtool lookup -t w.txt Dog
# `#` and a number is an id everywhere; what is no number after it, or is said to be a token, is a token
printf '#1 5 6\n#tag 7 8\n##1 9 10\n' > hash.txt
embtool lookup -t hash.txt '#0' '#tag' '##1' --token '#1' 2
embtool lookup -t w.txt '#3' || echo "exit $?"
embtool lookup -t w.txt '#-1' || echo "exit $?"
embtool lookup -t w.txt '#' || echo "exit $?"
ls
