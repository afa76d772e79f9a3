# What a table costs; the numbers are worked out by hand in docs/commands/plan.md and in the comments.
plan() { embtool plan "$@" || echo "exit $?"; }
plan 50000 768 --dtype bf16 --tp 16 --length 100 --optimizer adamw
plan 65536 1536 --dtype bf16 --untied --total-params 1.01e9 --json
# numbers as people write them: 256000, 262144, 262144, 1500000, 300, 300, 256000
for v in 256k 256Ki 0.25Mi 1.5M 0.3e3 3000e-1 256K; do plan $v 1 | sed -n '1p'; done
plan 7e9 1 --total-params 7B | sed -n '/total/p'
plan 2Gi 1 --total-params 0.07T | sed -n '/total\|^rows/p'
for v in 0 x 1.5 1k5 1KB 1Bi 2e99 1e . 1e-1 17179869184Gi; do plan $v 8 2>&1; done
# a table, a model, a head of its own, a total that follows the options
embtool init 19 3 -o t.npy > /dev/null
plan t.npy --tp 4 | grep tp
plan t.npy --json --positions 7 --untied
plan -t "$DATA/golden/hf/llama_sharded" | grep -E 'params|dtype|share'
plan "$DATA/golden/hf/llama_sharded" --tied --dtype f32 | grep -E 'params|dtype|share'
plan --preset gpt2 | grep -E 'params|share'
plan --preset gpt2 --untied --positions 2Ki | grep -E 'params|share'
# refusals
plan 3
plan 3 4 5
plan --preset gpt3
plan --preset gpt2 t.npy
plan 3 4 --tied --untied
plan 3 4 --tp 0
plan 3 4 --total-params 11
plan 3 5Gi
plan 4Gi 4000M --batch 4G --length 4G
plan 9 4 --optimizer rprop
plan 9 4 -O npy
plan 9 4 -o out.json && cat out.json
plan 9 4 -o out.json
