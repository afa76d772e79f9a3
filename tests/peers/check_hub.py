#!/usr/bin/env python3
"""The hub's cache shared with huggingface_hub, each finding what the other brought, against a hub on loopback (tests/remote/hub_server.py)."""
import json
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "cases"), str(TESTS / "remote")]
import far  # noqa: E402
import hub as models  # noqa: E402
from checks import Skip, run_checks  # noqa: E402
from far import folder, run  # noqa: E402
from hub_server import COMMIT, Hub, git_hash, hash_of  # noqa: E402

PRELUDE = "import huggingface_hub as h, json, sys\nfrom huggingface_hub.utils import WeakFileLock\n"


def huggingface(hub, home, code, **more):
    """What the code prints as JSON, with huggingface_hub of that cache and that hub."""
    env = far.environment({**models.env_of(hub, home), "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1",
                           "HF_HUB_DISABLE_UPDATE_CHECK": "1", **more})
    r = subprocess.run([sys.executable, "-c", PRELUDE + code], capture_output=True, text=True, env=env, timeout=120)
    if "No module named" in r.stderr:
        raise Skip(r.stderr.strip().splitlines()[-1])
    assert r.returncode == 0, r.stderr[-2000:]
    return json.loads(r.stdout) if r.stdout.strip() else None


def it_finds_what_embtool_brought():
    """A file that a lookup brought is found offline; one that it did not need is known to be missing; after resize the model is whole."""
    with folder() as home, Hub({"org/model": models.SMALL}) as hub:
        models.gives(models.lookup(hub, home, "w5"), 5)
        path = huggingface(hub, home, "print(json.dumps(h.hf_hub_download('org/model', 'tokenizer.json', local_files_only=True)))")
        assert Path(path).read_bytes() == models.SMALL["tokenizer.json"], path
        why = huggingface(hub, home, "try:\n h.snapshot_download('org/model', local_files_only=True)\n print('0')\n"
                                     "except Exception as e:\n print(json.dumps(type(e).__name__))")
        assert why == "IncompleteSnapshotError", why
        n, m = len(hub.log), len(hub.cdn.log)
        huggingface(hub, home, "h.hf_hub_download('org/model', 'tokenizer.json')")
        assert all(q.method == "HEAD" for q in hub.log[n:]) and len(hub.cdn.log) == m, hub.asked
        r = run("resize", "hf://org/model", "--add-tokens", "new", "-o", Path(home, "out"), env=models.env_of(hub, home))
        assert r.returncode == 0, r.stderr
        where = huggingface(hub, home, "print(json.dumps(h.snapshot_download('org/model', local_files_only=True, "
                                       "ignore_patterns=['*.bin', '*.onnx'])))")
        assert where == str(models.cache(home) / "snapshots" / COMMIT), where
        scan = huggingface(hub, home, "c = h.scan_cache_dir()\nprint(json.dumps([[str(w) for w in c.warnings], [r.repo_id for r in c.repos], "
                                      "sorted(f.file_name for r in c.repos for v in r.revisions for f in v.files)]))")
        assert scan == [[], ["org/model"], sorted(n.split("/")[-1] for n in models.SMALL if n not in ("pytorch_model.bin", "onnx/model.onnx"))], scan


def it_reads_the_list_of_files():
    """trees/COMMIT.json is what it would have written itself, but for what plain servers do not say."""
    with folder() as home, folder() as other, Hub({"org/model": models.SMALL}) as hub:
        models.gives(models.lookup(hub, home, 5), 5)
        huggingface(hub, other, "h.snapshot_download('org/model')")
        mine, its = (json.loads((models.cache(d) / "trees" / f"{COMMIT}.json").read_text()) for d in (home, other))
        assert mine == its, (mine, its)
        n = len(hub.log)
        huggingface(hub, home, "h.snapshot_download('org/model')")
        assert not any("/tree/" in q.path for q in hub.log[n:]), hub.asked


def embtool_finds_what_it_brought():
    """A snapshot of huggingface_hub is read offline; of one with config.json alone the rest comes, and that not again."""
    with folder() as home, Hub({"org/model": models.SMALL, "org/two": models.SMALL}) as hub:
        huggingface(hub, home, "h.snapshot_download('org/model')")
        n = len(hub.log)
        models.gives(models.lookup(hub, home, "w5", HF_HUB_OFFLINE="1"), 5)
        models.gives(models.lookup(hub, home, "w5"), 5)
        r = run("resize", "hf://org/model", "--add-tokens", "new", "-o", Path(home, "out"), env=models.env_of(hub, home))
        assert r.returncode == 0 and len(hub.log) == n, (r.stderr, hub.asked)
        huggingface(hub, home, "h.hf_hub_download('org/two', 'config.json')")
        n = len(hub.log)
        models.gives(models.lookup(hub, home, "w5", url="hf://org/two"), 5)
        asked = [q.path.rsplit("/", 1)[1] for q in hub.log[n:]]
        assert sorted(asked) == [f"{COMMIT}?blobs=true", "model.safetensors", "tokenizer.json"], asked


def same_locks():
    """A file that the other client is bringing is waited for, and then not asked for."""
    with folder() as home, Hub({"org/model": models.SMALL}) as hub:
        data = models.SMALL["config.json"]
        folder_, name = models.cache(home), git_hash(data)
        lock, blob = Path(home, "hub/.locks/org--model").with_name("models--org--model") / f"{name}.lock", folder_ / "blobs" / name
        env = far.environment(models.env_of(hub, home))
        holder = subprocess.Popen([sys.executable, "-c", PRELUDE + "import os, time\n"
                                   f"os.makedirs({str(lock.parent)!r}, exist_ok=True); os.makedirs({str(blob.parent)!r}, exist_ok=True)\n"
                                   f"with WeakFileLock({str(lock)!r}):\n print('locked', flush=True)\n sys.stdin.readline()\n"
                                   f" open({str(blob)!r}, 'wb').write(bytes.fromhex({data.hex()!r}))\n"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        if holder.stdout.readline() != "locked\n":
            raise Skip("huggingface_hub is not installed")
        tool = subprocess.Popen([far.TOOL, "lookup", "-v", "-t", "hf://org/model", "-O", "raw", "5"], env=env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        time.sleep(1)
        assert tool.poll() is None, tool.communicate()
        holder.communicate("go\n", timeout=30)
        out, err = tool.communicate(timeout=30)
        assert tool.returncode == 0 and out == models.row(5) and b"waiting" in err, (tool.returncode, err)
        assert not any("config.json" in p for p in hub.asked[0]), hub.asked


def blobs_have_its_names():
    """Every blob of a model that resize brought has the name that huggingface_hub gives it."""
    with folder() as home, folder() as other, Hub({"org/model": models.SMALL}) as hub:
        r = run("resize", "hf://org/model", "--add-tokens", "new", "-o", Path(home, "out"), env=models.env_of(hub, home))
        assert r.returncode == 0, r.stderr
        huggingface(hub, other, "h.snapshot_download('org/model', ignore_patterns=['*.bin', '*.onnx'])")
        of = lambda d: sorted(p.name for p in (models.cache(d) / "blobs").iterdir())  # noqa: E731
        assert of(home) == of(other) == sorted(hash_of(n, b) for n, b in models.SMALL.items() if n not in ("pytorch_model.bin", "onnx/model.onnx"))
        links = lambda d: sorted((str(p.relative_to(d)), str(p.readlink())) for p in Path(d, "hub").rglob("*") if p.is_symlink())  # noqa: E731
        assert links(home) == links(other)


if __name__ == "__main__":
    far.TOOL = str(Path(sys.argv[1]).resolve())
    sys.exit(run_checks([it_finds_what_embtool_brought, it_reads_the_list_of_files, embtool_finds_what_it_brought, same_locks,
                         blobs_have_its_names], sys.argv[2:], lambda check: check()))
