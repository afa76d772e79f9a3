# PyTorch files: views of one storage, a checkpoint with more in it, shards with their index.
ln -s "$DATA/golden" g
try() { embtool "$@" || echo "exit $?"; }
for v in transposed rows_2_to_6 columns_3_to_9 every_other_row expanded; do
    embtool stats "g/torch2/views.pt#$v" | grep -E '^(rows|dims|dtype|bytes|duplicate_rows)'
    embtool lookup -t "g/torch2/views.pt#$v" 1 > new
    embtool lookup -t "g/torch2/views_legacy.pth#$v" 1 | cmp - new
    # a copy without gaps has the same neighbours and the same numbers
    embtool lookup -t "g/torch2/views.pt#$v" 0 1 2 3 -o copy.npy --force
    embtool similar -t copy.npy -k 3 '#0' '#2' > want
    embtool similar -t "g/torch2/views.pt#$v" --limit 4 -k 3 '#0' '#2' | cmp - want
    embtool similar -t copy.npy -k 3 --metric euclidean '#2' > want
    embtool similar -t "g/torch2/views.pt#$v" --limit 4 -k 3 --metric euclidean '#2' | cmp - want
    embtool stats copy.npy --limit 4 | grep -E '^(mean|std|norm)' > want
    embtool stats "g/torch2/views.pt#$v" --limit 4 | grep -E '^(mean|std|norm)' | cmp - want
done
try lookup -t g/torch1/views.pt 0
try lookup -t g/torch1/checkpoint.ckpt 0
try lookup -t g/torch1/opaque_object.pt 0
try lookup -t g/torch1/reject_torchscript.pt 0
try lookup -t g/torch1/sharded 0
try lookup -t g/torch1/sharded --head 0
try resize g/torch1/tied.pt --rows 3 --shrink -o x.pt
mkdir m
cp g/torch1/sharded/config.json m
cp g/torch1/sharded/pytorch_model-00001-of-00002.bin m/pytorch_model.bin
cp g/torch1/sharded/pytorch_model.bin.index.json m
try lookup -t m 0
try lookup -t m 0 --strict
cd m || exit
try lookup 0
