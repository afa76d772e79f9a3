# Tables of positions and arrays that are turned. Numbers: tests/data/check_positions.py; here options, forms and refusals.
pos() { embtool position "$@" || echo "exit $?"; }
pos sinusoidal -L 3 -D 4 -o pe.npy && embtool lookup 0 1 2 -t pe.npy
pos sinusoidal -L 1 -D 4 --start 2 -o part.npy && embtool lookup 0 -t part.npy
# threads and the size of blocks do not show; a pipe and a file get the same
pos sinusoidal -L 60k -D 33 -j 1 -o a.npy && pos sinusoidal -L 60000 -D 33 -j 3 -O npy | cmp - a.npy
pos rope -L 60Ki -D 66 -j 1 -o c.npy && pos rope -L 61440 -D 66 -j 3 -o d.npy && cmp c.npy d.npy
# [2, L, R/2]; the model gives what is not said
pos rope -L 5 -D 8 --rotary-dims 6 -o r.safetensors --name rope --dtype bf16 && embtool ls r.safetensors
mkdir m && echo '{"model_type":"gpt_neox","hidden_size":64,"num_attention_heads":2,"rotary_emb_base":10000}' > m/config.json
pos rope -L 5 -t m -o r.npy && embtool ls r.npy
pos rope -L 5 -D 32 --rotary-dims 8 -o s.npy && cmp r.npy s.npy
pos rope -L 5 -t m/config.json -o s.npy --force && cmp r.npy s.npy
# rows of one position are turned alike, whatever the axis; the type stays where npy holds it
embtool init 6 8 --dtype f16 -o h.npy > /dev/null
pos rope --apply h.npy -o h2.npy && embtool ls h2.npy
pos rope --apply h.npy -o h3.npy -L 6 -D 8 --dtype f64 && embtool ls h3.npy
pos rope --apply h.npy -o h4.npy --axis 0 && cmp h2.npy h4.npy
pos rope --apply h.npy -o - -O npy --style gptj | cmp -s - h2.npy || echo other pairs
# refusals
pos
pos sine -L 3 -D 4 -o x.npy
pos sinusoidal rope -L 3 -D 4 -o x.npy
pos sinusoidal -L 3 -D 4
pos sinusoidal -L 3 -o x.npy
pos sinusoidal -L 3 -D 4 --apply h.npy -o x.npy
pos sinusoidal -L -1 -D 4 -o x.npy
pos sinusoidal -L 3 -D 4 -o x.txt
pos sinusoidal -L 3 -D 4 --dtype i8 -o x.npy
pos sinusoidal -L 3 -D 4 --dtype bf16 -o x.npy
pos sinusoidal -L 3 -D 4 --base -3 -o x.npy
pos sinusoidal -L 3 -D 4 --start 9007199254740990 -o x.npy
pos sinusoidal -L 3 -D 4 -o pe.npy
pos rope -D 4 -o x.npy
pos rope -L 3 -o x.npy
pos rope -L 3 -D 5 -o x.npy
pos rope -L 3 -D 4 --axis 1 -o x.npy
pos rope -L 3 -D 4 --scaling yarn:4 -o x.npy
pos rope -L 3 -D 4 --scaling yarn:facto=4 -o x.npy
pos rope -L 3 -t nowhere -o x.npy
cp -r "$DATA/golden/hf/gpt2_tied" g && pos rope -L 3 -t g -o x.npy
echo '{"rope_scaling":{"type":"linear"},"head_dim":4}' > m/config.json
pos rope -L 3 -t m -o x.npy
pos rope --apply nothing.npy -o x.npy
pos rope --apply h.npy -L 5 -o x.npy
pos rope --apply h.npy -D 4 -o x.npy
pos rope --apply h.npy --axis 1 -o x.npy
pos rope --apply h.npy --axis x -o x.npy
pos rope --apply h.npy --start 9007199254740990 -o x.npy
ls
