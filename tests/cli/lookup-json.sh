# One object a line; NaN and the infinities are null; invalid UTF-8 shows its bytes.
printf 'cat 1 nan\nca\377t inf -inf\n"q\\ -0 1e-7\n' > w.txt
embtool lookup -t w.txt --json 0 1 2
embtool lookup -t w.txt -O json 0
embtool lookup -t w.txt 0 -o x.jsonl
cat x.jsonl
# What was asked stands where the token is another: in another spelling, or not there.
printf 'cat 1 2\ndog 3 4\ncart 5 6\n' > w.txt
embtool lookup -t w.txt --json Cat nope cat --id 1..2 catt || echo "exit $?"
printf 'dog\ndgo\n\nDOG\n' | embtool lookup -t w.txt --json --tokens -q || echo "exit $?"
printf 'nope\n' | embtool lookup -t w.txt --json --tokens -o miss.json || echo "exit $?"
cat miss.json
embtool lookup -t w.txt nope cat -O npy || echo "exit $?"
# With --strict no other spelling answers, but the text that a piece stands for does.
embtool lookup -t w.txt --strict --json Cat cat || echo "exit $?"
embtool lookup -t w.txt --strict Cat cat || echo "exit $?"
embtool lookup -q --strict --json --token ' the' -t "$DATA/golden/gguf/model_gpt2_tied.gguf" | cut -d , -f 1-3
