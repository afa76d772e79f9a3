# On several threads each command gives the bytes that it gives on one.
for j in 1 4; do
    embtool init 70000 64 --seed 7 -j $j -o t$j.npy > /dev/null
    embtool stats t$j.npy -j $j --columns | grep -v '^path' > stats$j
    seq 0 29999 | tr '\n' ' ' | embtool lookup -t t$j.npy -j $j --dtype f64 -o rows$j.npy
    embtool similar -t t$j.npy -j $j -k 5 "#3" "#4000" "#50000" "#69999" > hits$j
    embtool resize t$j.npy -j $j --rows 70100 -o more$j.npy > /dev/null 2>&1
done
# A tokenizer.json of more than 1 MiB, whose merges another thread reads: the second one has a fault at their end.
awk 'BEGIN { printf "{\"model\": {\"type\": \"BPE\", \"vocab\": {"
    for (i = 0; i < 40000; i++) printf "%s\"w%d\": %d", (i ? ", " : ""), i, i
    printf "}, \"merges\": ["
    for (i = 1; i < 40000; i++) printf "%s[\"w%d\", \"w%d\"]", (i > 1 ? ", " : ""), i, i - 1
    printf "]}}" }' > tokenizer.json
sed "s/\\]}}$/, ]}}/" tokenizer.json > bad.json
for j in 1 4; do
    embtool lookup -t t1.npy --vocab tokenizer.json -j $j w39999 > token$j
    embtool lookup -t t1.npy --vocab bad.json -j $j w39999 > fault$j 2>&1 || echo "exit $?" >> fault$j
done
for name in token fault; do cmp ${name}1 ${name}4; done
cat fault1
for name in stats hits; do cmp ${name}1 ${name}4; done
for name in t rows more; do cmp ${name}1.npy ${name}4.npy; done
wc -l < hits4
