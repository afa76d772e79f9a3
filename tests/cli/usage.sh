# What is wrong with a command line is said in one line, exit 2.
try() { embtool "$@" || echo "exit $?"; }
try lokup
try xyzzy
try --lookup
try help lokup
try lookup --tabel x
try lookup --ids x
try lookup --tab x
try lookup -Z
try lookup -1
try lookup --limit
try lookup --limit x cat
try lookup --limit '' cat
try lookup --limit=-1 cat
try lookup --limit 1.5 cat
try lookup --limit 18446744073709551616 cat
try lookup --limit 0 cat
try lookup --label name cat
try lookup --dtype f33 cat
try lookup --json=yes cat
try lookup --no-json cat
try lookup -j 9999 cat
try lookup --shape 3 cat
EMBTOOL_THREADS=many try lookup cat
