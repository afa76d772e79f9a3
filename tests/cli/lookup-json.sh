# One object a line; NaN and the infinities are null; invalid UTF-8 shows its bytes.
printf 'cat 1 nan\nca\377t inf -inf\n"q\\ -0 1e-7\n' > w.txt
embtool lookup -t w.txt --json 0 1 2
embtool lookup -t w.txt -O json 0
embtool lookup -t w.txt 0 -o x.jsonl
cat x.jsonl
