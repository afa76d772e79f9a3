# The same bytes with every instruction set, from each command that has kernels, on one thread and on seven.
embtool init 3000 300 --seed 5 -q -o g.npy > /dev/null
embtool convert g.npy g16.safetensors --dtype f16 -q > /dev/null
embtool convert g.npy gb.safetensors --dtype bf16 -q > /dev/null
search() { embtool similar -q --digits 17 "$@"; }
all() {
    search "$@" -k 20 cat dog '#7'
    for metric in cosine dot euclidean; do
        search "$@" -t g.npy --id 0..99 -k 9 --metric $metric
        search "$@" -t g.npy --id 5..9 -k 1000 --metric $metric --farthest
        search "$@" -t g16.safetensors --id 100..130 -k 4 --metric $metric
        search "$@" -t gb.safetensors --id 11 -k 300 --metric $metric
    done
    embtool stats -q "$@" g.npy --json
    embtool stats -q "$@" gb.safetensors --columns
    embtool lookup -q "$@" -t g16.safetensors '#3' '#2999'
    for dist in normal uniform truncated; do
        embtool init 700 301 --dist $dist --seed 9 -q "$@" -O raw --dtype f16 -o -
        embtool init 70 301 --dist $dist --seed 9 -q "$@" -O raw --dtype f64 -o -
    done
    embtool convert g.npy - -O raw --dtype bf16 -q "$@"
    embtool convert gb.safetensors - -O raw --dtype f32 -q "$@"
    embtool resize g.npy --rows 3100 -q "$@" -o more.npy --force 2>/dev/null
    cat more.npy
}
for tier in avx2 avx512 none; do
    export EMB_DISABLE_CPU=$tier
    for j in 1 7; do
        all -j $j > $tier.$j
        cmp $tier.$j avx2.1
    done
done
# lines of hits, and bytes in all
search -j 1 -t g.npy --id 5..9 -k 1000 | wc -l
test "$(wc -c < none.7)" -gt 9000000 && echo enough
