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
