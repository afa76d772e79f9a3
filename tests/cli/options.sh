# All spellings of options; options and arguments mixed; -- ends options.
printf 'cat 1 2\ndog 3 4\nfox -0.5 0.25\n' > w.txt
embtool lookup cat -tw.txt dog --label=id
embtool lookup --table=w.txt -qv cat
embtool lookup -qtw.txt cat
embtool lookup -t none.txt -t w.txt cat
embtool lookup -t w.txt cat -- -x || echo "exit $?"
