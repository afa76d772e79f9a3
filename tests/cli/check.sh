# Each disagreement is a line, with the command that mends it; exit 1.
check() { embtool check "$@" || echo "exit $?"; }
embtool init 3 2 --arch llama --untied -o m/ > /dev/null
cat > m/tokenizer.json <<'J'
{"added_tokens": [], "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "c": 2}}}
J
check m
check -t m --json
sed -i 's/"vocab_size": 3/"vocab_size": 5,\n  "eos_token_id": [1, 99]/' m/config.json
check m
check m --json
mv m "it's"
check "it's" | head -n 1
# no model, two, none
check
check m "it's"
check nowhere
check "it's/config.json"
# a file of a model stands for its directory, and the current one is taken where none is named
cp -r "it's" n
check n/tokenizer.json | head -n 1
(cd n && check -q) | head -n 1
EMBTOOL_TABLE=n check -q | head -n 1
check list.txt
: > list.txt
check list.txt
# models of the hub's cache are looked at, and not mended
snapshot=cache/models--org--model/snapshots/0123456789012345678901234567890123456789
mkdir -p $snapshot cache/models--org--model/refs
printf 0123456789012345678901234567890123456789 > cache/models--org--model/refs/main
cp n/* $snapshot/
HF_HUB_CACHE=cache check hf://org/model
HF_HUB_CACHE=cache check hf://org/model --json | head -n 1
HF_HUB_CACHE=cache HF_HUB_OFFLINE=1 check hf://org/other
# what is not there is said, as a finding where loaders need it
embtool init 3 2 --arch llama -o bare/ -q > /dev/null
check bare
rm bare/config.json
check bare
