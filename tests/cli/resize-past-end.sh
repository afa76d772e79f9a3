# A vocabulary with more tokens than the table has rows: ids 6 and 7 are taken, so a new token is 8, and the rows
# between are made as well.
awk 'BEGIN { for (i = 0; i < 6; i++) print "w" i, i, i + 1 }' > six.txt
embtool lookup --id 0..5 -t six.txt -o six.npy
printf '%s\n' a b c d e f g h > eight
embtool resize six.npy --vocab eight --add-tokens foo,h -o more.npy --save-tokens names --row-map map
paste -s -d ' ' names
paste -s -d ' ' map
embtool lookup --id 4..8 -t more.npy
embtool resize six.npy --vocab eight --rows 8 --dry-run
embtool resize six.npy --vocab eight --rows 7 --dry-run || echo "exit $?"
embtool resize six.npy --vocab eight --rows 7 --shrink --dry-run
embtool resize six.npy --vocab eight --remove-tokens b,h --add-tokens zed,h -o less.npy --save-tokens names --force
paste -s -d ' ' names
embtool resize six.npy --vocab eight --keep-tokens eight --reorder eight --dry-run -q
embtool resize six.npy --vocab eight --remove-tokens '#7' --dry-run || echo "exit $?"
