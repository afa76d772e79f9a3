# A bad id names its item and its text, whatever its size; nothing is written.
printf 'cat 1 2\ndog 3 4\nfox -0.5 0.25\n' > w.txt
try() { embtool lookup -t w.txt -o o.npy || echo "exit $?"; }
echo '0 1 3' | try
echo '0 -1' | try
echo '18446744073709551617' | try
echo '0, 4294967296' | try
echo '0 1x' | try
echo '1.0' | try
echo '0 0x1' | try
echo '1,,2' | try
echo '[0, 1,]' | try
echo '[0, 1' | try
echo '0]' | try
echo '[[[0]]]' | try
echo '[[0],1]' | try
# an id may have leading zeros, but a word longer than any buffer is none, wherever it is cut
python3 -c 'print("0" * 300 + "1")' | embtool lookup -t w.txt
python3 -c 'print("0" * 1000000 + "1")' > long
try < long
rm long
embtool lookup -t w.txt 0 1 3 -o o.npy || echo "exit $?"
embtool lookup -t w.txt -- -1 || echo "exit $?"
embtool lookup -t w.txt --id 1..3 || echo "exit $?"
embtool lookup -t w.txt --id 2..1 || echo "exit $?"
printf '\001\000\377\377' | embtool lookup -t w.txt --ids-format u16 -o o.npy || echo "exit $?"
printf '\377\377\377\377' | embtool lookup -t w.txt --ids-format i32 -o o.npy || echo "exit $?"
printf '\001\000\000' | embtool lookup -t w.txt --ids-format u16 -o o.npy || echo "exit $?"
ls
