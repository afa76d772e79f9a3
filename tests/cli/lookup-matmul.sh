# --via matmul: one-hot x table gives the rows of a lookup, in every type and format, or says why it cannot.
# Where OpenBLAS was not installed for the build, gather is compared with itself.
via=gather
embtool --version | grep -q 'blas openblas' && via=matmul

same() {
    embtool lookup -q "$@" > a
    embtool lookup -q --via $via "$@" | cmp - a
}
positive() { sed 's/ -0 / 0 /g; s/ -0$/ 0/' "$1"; }
numbers() { # but for the sign of zeros
    embtool lookup -q "$@" > a
    embtool lookup -q --via $via "$@" > b
    positive a > c
    positive b | cmp - c
}
golden=$DATA/golden
for t in safetensors/f32 safetensors/bf16 safetensors/f16 safetensors/f64 safetensors/f8_e4m3 safetensors/f8_e5m2 \
         safetensors/i8 safetensors/u8; do
    numbers -t "$golden/$t.safetensors" 2 0 2
done
for t in npy/f2_fortran npy/f8_big_endian npy/i1; do
    numbers -t "$golden/$t.npy" 1 0
done
same cat dog '#0' -O npy
same --json cat
same --dtype bf16 cat -O raw
seq 0 3 1199 > ids
same -i ids --limit 1200 -O npy
printf '1 2 3\n4\n' | embtool lookup -q --via $via --pad-id 0 -O npy > b
printf '1 2 3\n4\n' | embtool lookup -q --pad-id 0 -O npy | cmp - b

# What it takes is said, unless -q; -0 is 0 in a sum.
printf 'a -0 1\nb 2 -0\n' > zeros.txt
if [ $via = matmul ]; then
    embtool lookup -t zeros.txt --via matmul a b a
    embtool lookup -t zeros.txt -q --via matmul a
else
    cat <<'END'
a 0 1
b 2 0
a 0 1
embtool: note: one-hot [3, 2] x table [2, 2]: 24 multiplications and additions, 16 bytes of the table read; a lookup reads 24, and gives the same rows
embtool: note: numbers that are -0 in the table and 0 in a sum: 3
a 0 1
END
fi 2>&1

# NaN or an infinity anywhere would be in every row; 64-bit integers are no floats.
if [ $via = matmul ]; then
    embtool lookup --via matmul -t "$golden/safetensors/nan_inf.safetensors" 0 2>&1 | sed 's/.*safetensors: //; s/row [0-9]*/row N/'
    embtool lookup --via matmul -t "$golden/npy/ids_i8.npy" 0 2>&1 | sed 's/.*npy: //'
else
    cat <<'END'
row N holds NaN or an infinity: 0 times that is NaN, and every row of one-hot x table would have one
numbers of type i64, which no float of BLAS holds exactly
END
fi
cp "$(command -v embtool)" alone
./alone lookup --via matmul -t zeros.txt a 2>err || echo "exit $?"
sed 's/; libemb-blas.so was looked for in .*//' err
embtool lookup --via magic 0 || echo "exit $?"
