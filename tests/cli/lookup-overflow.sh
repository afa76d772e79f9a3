# Numbers that do not fit the type asked for are counted in one warning.
printf 'a 1 70000\nb -1e9 65504\n' > w.txt
embtool lookup -t w.txt a b --dtype f16
