# Ids, tokens and ranges in the order they were written; labels.
printf 'cat 1 2\ndog 3 4\nfox -0.5 0.25\n' > w.txt
embtool lookup -t w.txt fox 0 --id 1..2 cat
embtool lookup -t w.txt --label id cat fox
embtool lookup -t w.txt --label none 2
embtool lookup -t w.txt --dtype f16 --label=none dog
