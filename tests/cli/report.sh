# --report: what made an output, with the sizes and SHA-256 of files; a run that fails leaves none, and none is overwritten.
printf 'cat 1 2\ndog 3 4\nfox -0.5 0.25\n' > w.txt
printf '0 2\n' > ids.txt
printf 'x\ny\n' > names.txt
printf 'dog\n' > words.txt
checked() { # prints a report, with the word `right` in place of each hash that agrees with sha256sum
    cp "$1" shown
    for f in w.txt ids.txt names.txt words.txt out.npy out.npz table.npy out.txt; do
        [ ! -f $f ] || sed -i "s/\"bytes\":$(stat -c %s $f),\"sha256\":\"$(sha256sum $f | cut -d ' ' -f 1)\"/right/" shown
    done
    cat shown
}
embtool lookup -t w.txt -i ids.txt -o out.npy --report a.json
checked a.json
embtool similar -t w.txt cat -o out.npz --report b.json
checked b.json
embtool init --tokens names.txt 2 --seed 7 -o table.npy --json --report c.json
checked c.json
embtool lookup -t table.npy --vocab names.txt y --label none --report d.json
checked d.json
embtool lookup -t w.txt --tokens-file words.txt -o out.txt --report e.json
checked e.json
embtool stats -t w.txt --report f.json > out
checked f.json
embtool init 3 2 --dry-run -o no.npy --report - > out
tail -n 1 out
printf 'cat 1 2\n' | embtool lookup -t - cat --report g.json
cat g.json; echo
embtool lookup -t w.txt cat dgo --report h.json || echo "exit $?"
checked h.json
# the same run, the same report
cp a.json first.json
embtool lookup -t w.txt -i ids.txt -o out.npy --force --report a.json && checked a.json
echo keep > a.json
embtool lookup -t w.txt cat --report a.json || echo "exit $?"
cat a.json
embtool lookup -t w.txt 9 --report i.json || echo "exit $?"
embtool lookup -t w.txt cat -o same --report same || echo "exit $?"
embtool lookup -t w.txt cat --report no/such.json || echo "exit $?"
embtool lookup -t w.txt cat --report /dev/full || echo "exit $?"
ls
# It never takes the place of what was read, --force or not, and does not lie in a directory that is made.
cp w.txt before
embtool lookup -t w.txt cat -o cat.npy --report ./w.txt --force || echo "exit $?"
cmp w.txt before
embtool init 4 2 --arch llama -o m/ > out
embtool stats m --report m/config.json --force > out || echo "exit $?"
grep -c model_type m/config.json
embtool resize m --rows 8 -o m2 --report m/model.safetensors --force > out || echo "exit $?"
embtool stats m > out && grep rows out
mkdir made
embtool init 4 2 --arch llama -o made --report made/r.json > out || echo "exit $?"
ls made
