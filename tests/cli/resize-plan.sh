# The plan: spare rows first, ids behind the largest in use, holes stay holes; --dry-run writes nothing.
try() { embtool resize "$@" || echo "exit $?"; }
embtool init 8 4 --dtype bf16 -o t.safetensors > made
printf 'a\n\nc\nd\n' > words
try t.safetensors --vocab words --add-tokens x,a,y --dry-run
try t.safetensors --vocab words --add-tokens p,q,r,s,t --pad-to-multiple-of 8 --dry-run --json --save-tokens new
try t.safetensors --vocab words --shrink -n
try t.safetensors --vocab words --remove-tokens 'd,#1' --add-tokens d --rows 8 -n
try t.safetensors --rows 3 --shrink -n --init copy:#7
ls
