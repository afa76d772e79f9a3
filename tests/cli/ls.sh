# A line a tensor: name, type, shape, bytes, file, and a star at the embedding and the head.
ls_() { embtool ls "$@" || echo "exit $?"; }
ls_ "$DATA/golden/hf/llama_sharded" | head -n 4
ls_ "$DATA/golden/hf/llama_sharded" --json | grep embed_tokens
cp -r "$DATA/golden/hf/gpt2_tied" m
ls_ m/model.safetensors#transformer.wte.weight
ls_ m --tensor transformer.wte.weight
ls_ -t m#nothing
(cd m && embtool ls 2>&1 | tail -n 1)
EMBTOOL_TABLE=m embtool ls 2>&1 | sed -n 1p
embtool ls -q | sed 's|.*/||'
# tables without names; standard input; a name with odd bytes; a type of its own
printf '2 3\na 1 2 3\nb 4 5 6\n' | embtool ls -
printf '2 3\na 1 2 3\nb 4 5 6\n' | embtool ls - --json
printf '%b' '\0104\0\0\0\0\0\0\0{"a\\tb\\u0000c":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}}xyz' > odd.safetensors
ls_ odd.safetensors
ls_ odd.safetensors --raw-tokens | od -An -c | head -n 1
ls_ odd.safetensors --json
# a directory of files; one that cannot be read; none
mkdir d && cp odd.safetensors d/ && embtool init 2 2 -o d/t.npy > /dev/null && echo text > d/notes.txt
ls_ d
head -c 20 odd.safetensors > d/cut.safetensors
ls_ d
# a zip of several tables, of one, and a member by its name
(cd d && python3 -m zipfile -c ../two.zip t.npy odd.safetensors notes.txt && python3 -m zipfile -c ../one.zip t.npy notes.txt)
ls_ two.zip
ls_ one.zip
ls_ two.zip#t.npy
ls_ two.zip#t.npy --json
ls_ two.zip#nothing
# a part of a GGUF model has its own tensors, whatever lies beside it
mkdir g && cp "$DATA"/golden/gguf/split-0000* g/ && cp "$DATA/golden/gguf/model_gpt2_tied.gguf" g/z.gguf
ls_ g/split-00002-of-00002.gguf
ls_ g | grep '^output.weight'
rm g/split-00001-of-00002.gguf
ls_ g/split-00002-of-00002.gguf
mkdir empty
ls_ empty
ls_ nowhere
ls_ m d
ls_ --limit 3 m
ls_ --format npy m/model.safetensors
# columns for people
cat > screen.py <<'PY'
import os, pty
pid, fd = pty.fork()
if pid == 0:
    os.execvp("embtool", ["embtool", "ls", "pair"])
out = b""
while True:
    try:
        piece = os.read(fd, 4096)
    except OSError:
        break
    if not piece:
        break
    out += piece
os.waitpid(pid, 0)
print(out.decode().replace("\r\n", "|\n"), end="")
PY
mkdir pair && embtool init 3 2 --name model.embed_tokens.weight -o pair/a.safetensors > /dev/null && embtool init 12 20 --dtype f16 -o pair/long-name.npy > /dev/null
python3 screen.py
# a GGUF file that was cut behind its header, and its tensors are not all there
head -c -1000 "$DATA/golden/gguf/model_llama.gguf" > cut.gguf
ls_ cut.gguf 2>&1 > list
sed -n '$p' list
