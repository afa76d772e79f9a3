# Where rows and tables may come from, and what excludes what.
printf 'cat 1 2\ndog 3 4\nfox -0.5 0.25\n' > w.txt
try() { embtool lookup "$@" || echo "exit $?"; }
try -t - < /dev/null
try -t w.txt cat -i w.txt
try -t w.txt cat --tokens
try -t w.txt cat --ids-format i32
try -t w.txt cat --ragged -o x.npz
try -t w.txt --pad-id 0 < /dev/null
try -t w.txt --ragged --pad-id 0 -o x.npz < /dev/null
try -t w.txt -i none.txt
try -t none.txt cat
embtool lookup -t - cat < w.txt
echo 1 | embtool lookup -t w.txt cat
echo 1 | embtool lookup -t w.txt -i -
EMBTOOL_TABLE=w.txt embtool lookup dog
EMBTOOL_TABLE=w.txt embtool lookup -q dog
