# --backend: the same bytes from BLAS as from our own loops; what OpenBLAS finds in its environment; no plugin.
program=$(command -v embtool)
plugins=$(dirname "$program")/tests/plugins
has() { grep -q "^flags.* $1\( \|$\)" /proc/cpuinfo; }

# Where OpenBLAS was not installed for the build, native is compared with itself.
blas=native
embtool --version | grep -q 'blas openblas' && blas=blas
try() {
    embtool similar -q --backend native "$@" > native
    embtool similar -q --backend $blas "$@" | cmp - native
    embtool similar -q --backend auto -j 1 "$@" | cmp - native
}
try cat dog '#7' -k 3
try --all --limit 3000 -k 2
try --id 0..99 --metric dot --farthest
try --id 0..99 --metric euclidean --center --restrict 9999 --match 'c*' --digits 17

# The core that runs is one for this CPU, whatever OpenBLAS thinks of its model number.
if [ $blas = blas ] && has avx2; then
    embtool similar -v --backend blas cat 2>&1 | grep 'debug: blas: ' | grep -i -c 'haswell\|skylakex\|zen'
else
    echo 1
fi

# What is set before the plugin is loaded; a core type that the user chose stays.
want=unset
if has avx2 && has fma && has f16c; then want=HASWELL; fi
narrow=$want
if has avx512f && has avx512bw && has avx512dq && has avx512vl; then want=SKYLAKEX; fi
look() { env EMB_PLUGIN_PATH="$plugins/mirror" "$@" embtool similar -v --backend blas nosuchword 2>&1 | sed -n 's/: a core older than this CPU$//; s/.*debug: blas: //p'; }
look A=1 | sed "s/core type $want/core type of this CPU/"
look EMB_DISABLE_CPU=avx512 | sed "s/core type $narrow/core type without AVX-512/"
look EMB_DISABLE_CPU=avx2
look OPENBLAS_CORETYPE=ZEN OPENBLAS_NUM_THREADS=7

# A program without plugins beside it: an error where BLAS was asked for, nothing to see otherwise.
cp "$program" alone
./alone similar --backend blas -t "$DATA/glove_sample.txt" the 2>err || echo "exit $?"
sed 's/; libemb-blas.so was looked for in .*//' err
./alone similar -t "$DATA/glove_sample.txt" -k 1 the || echo "exit $?"
EMB_PLUGIN_PATH=$plugins/old_abi embtool similar --backend blas cat 2>err || echo "exit $?"
sed 's/[0-9][0-9]*/N/g' err

# Who does not multiply loads nothing.
LD_DEBUG=files embtool similar -q -k 1 cat 2>&1 | grep -c openblas || true

# Nothing is multiplied where the fast way is impossible: that is said, and auto loads nothing for it.
said() { embtool similar -v "$@" 2>&1 >/dev/null | sed -n 's/.*debug: search: //p'; }
said --backend $blas cat -k 1024 | sed 's/ by .*//'
said --backend $blas cat -k 1025
said --backend $blas cat --farthest --min-score -1
said --backend $blas -t "$DATA/glove_sample.txt" the
said --id 0..239 -k 2 --farthest --min-score -1
LD_DEBUG=files embtool similar -q --id 0..239 -k 2 --farthest --min-score -1 2>&1 | grep -c openblas || true

# What BLAS has no part in.
embtool similar --backend blas --method mul --analogy man king woman || echo "exit $?"
embtool similar --backend blas --pairs cat dog || echo "exit $?"
embtool similar --backend gpu cat || echo "exit $?"
