# Close spellings are looked for until words were compared with 2^24 tokens: sixteen words with 2^20 tokens, no
# more, so that a long pipe of unknown words ends.
awk 'BEGIN { print "catt 1"; for (i = 1; i < 1048576; i++) print "x" i, 0 }' > big.txt
awk 'BEGIN { for (i = 1; i <= 20; i++) print "catx" }' | embtool lookup --tokens -t big.txt 2> said || echo "exit $?"
grep -c 'close: catt' said
grep -c 'not in the vocabulary$' said
grep note: said
# What a piece stands for finds it, whichever way its blank is stored.
printf '%s\n' '▁cat' '▁a▁dog' 'Ġhen' 'owl</w>' > words
embtool init --tokens words 1 --dist constant:1 -o four.txt -q > /dev/null
for word in 'cat' ' cat' 'a dog' ' a dog' ' hen' 'owl' ' CAT'; do
    embtool lookup --token "$word" --label id -t four.txt
done
embtool lookup --token ' owl' -t four.txt || echo "exit $?"
