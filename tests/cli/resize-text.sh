# A text table: lines that stay keep every byte, the header's count changes, new rows print shortest.
try() { embtool resize "$@" || echo "exit $?"; }
printf ' 3  2\r\ncat 1.50 2e0\r\nhot dog\t0  -0.0\r\nowl .25 7' > t.vec
try t.vec --add-tokens newt,cat,newt,b --init mean-of:cat+owl -o o.vec
od -An -c o.vec
try t.vec --reorder - -o o.txt <<END
owl
END
cat o.txt
printf 'a 1 2\nb 3 4\na 5 6\nc 7 8\n' > twice.txt
try twice.txt --remove-tokens a --add-token a,b --add-token 'x y' --row-map map -o o2.txt -q
cat o2.txt map
printf 'c\nb\n' > keep
try twice.txt --keep-tokens keep --in-place --save-tokens left -q --json
cat twice.txt left
try twice.txt --init zeros --tokens-file keep --add-tokens z -o - 2>&1
