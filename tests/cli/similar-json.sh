# One object a query: what was asked, the row that answered, hits; and for a word that is not there, words like it.
printf 'east 1 0\nnorth 0 1\nfar 3 4\nwest -2 0\n' > w.txt
embtool similar --json -t w.txt east EAST -k 2
embtool similar --json -t w.txt fa -q || echo "exit $?"
embtool similar --json -t w.txt --expr 'east + 0.5*wes - fa' -q || echo "exit $?"
embtool similar --json -t w.txt --analogy east far north -k 1
embtool similar --json -t w.txt --expr '2*east' --method mul -k 1
embtool similar --json -t w.txt '#9' '#0' -k 1 || echo "exit $?"
printf '\377x 1 0\neast 1 0\n' > bytes.txt
embtool similar --json -t bytes.txt '#0' east
# With --strict no other spelling answers.
embtool similar --json -t w.txt --strict EAST east -k 1 || echo "exit $?"
