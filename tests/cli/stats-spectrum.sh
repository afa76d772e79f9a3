# The spectrum of tables whose singular values are known; numbers without an answer; no plugin.
try() { embtool stats "$@" || echo "exit $?"; }
figures() { try "$@" --spectrum | sed -n '/^mean_cosine/,$p'; }
# Columns are orthogonal: values 5, 4, 3; rows 0 and 3 have cosine 1, all other pairs 0. Shares 25, 16, 9 of 50;
# effective rank exp(ln 12 - (5 ln 5 + 4 ln 4 + 3 ln 3) / 12) = 2.93749.
printf 'a 3 0 0\nb 0 4 0\nc 0 0 3\nd 4 0 0\ne nan 1 1\n' > t.txt
figures t.txt
figures t.txt -k 2 --columns
figures t.txt -k0 -j 1
try t.txt --spectrum --json -k 1 | grep -o '"spectrum":{"mean_cosine":0.1666666666666666[0-9]*,"effective_rank":2.93[0-9]*,"singular_values":\[[0-9.]*\],"shares":\[[0-9.]*\]},"warnings"' | cut -c 1-32
# Rows of zeros alone; no finite row.
printf 'a 0 0\nb 0 0\n' > zero.txt
figures zero.txt
try zero.txt --spectrum --json | grep -o '"spectrum":.*}'
printf 'a nan 0\nb inf 0\n' > nan.txt
figures nan.txt
try nan.txt --spectrum --json | grep -o '"spectrum":.*}'
try t.txt -k 3
try t.txt --spectrum -k x
# A program without a plugin beside it.
cp "$(command -v embtool)" alone
code=0; EMB_PLUGIN_PATH= ./alone stats t.txt --spectrum > out 2> err || code=$?
echo "$code, $(wc -c < out) bytes"
sed 's/ in .*//' err
# It is missed before the table is looked at.
EMB_PLUGIN_PATH= ./alone stats nowhere.txt --spectrum 2>&1 | sed 's/: the BLAS.*//'
./alone stats t.txt | head -n 1
