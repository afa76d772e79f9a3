# Bare little-endian ids, one sequence.
printf 'cat 1 2\ndog 3 4\nfox -0.5 0.25\n' > w.txt
printf '\002\000\000\000\001\000\000\000' | embtool lookup -t w.txt --ids-format u16
printf '\002\000\000\000\001\000\000\000' | embtool lookup -t w.txt --ids-format i32
printf '\002\000\000\000\000\000\000\000' > ids
embtool lookup -t w.txt --ids-format i64 -i ids -o x.npy
python3 "$DATA/../cli/show.py" x.npy
