#!/usr/bin/env python3
"""Check `embtool position`, `lookup --input-layer` and `logits` against positions/: what make_positions.py has recorded.

    check_positions.py EMBTOOL [--data DIR] [-v]

Python 3 standard library only. Each rotary case is asked for in up to three ways: by its config.json, by the same
in the older spelling, and by options. Tolerances are those that a float32 angle and a float64 one both keep: per value
scale * ((4 + 2 blend) * 2^-24 * t * f + 2^-22) at position t and frequency f, blend being the factor of yarn and llama3 (their
blend weight is rounded too) and else 0; of a turned pair that times its length + 0.1. Sinusoids: one rounding to float32. Inputs
of models have equal bits, but behind a LayerNorm, whose sums other programs make in f32: within 3e-6. Logits: 1e-5, as the model has
them (--as-model), and plain; the highest of each hidden state in order where they are further apart; softmax 3e-6.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path

HERE = Path(__file__).resolve().parent
SINE_TOLERANCE = {"f32": 6.1e-8, "f64": 1e-12}


def npy(path):
    """(shape, flat values) of a little-endian float .npy in C order."""
    data = Path(path).read_bytes()
    start = 10 + int.from_bytes(data[8:10], "little")
    head = data[10:start].decode("latin1")
    if data[:6] != b"\x93NUMPY" or "'fortran_order': False" not in head:
        raise ValueError(f"{path}: not an array in C order")
    kind = "d" if "<f8" in head else "f" if "<f4" in head else "H" if "<u2" in head else None
    shape = [int(x) for x in head[head.index("(") + 1:head.index(")")].split(",") if x.strip()]
    return shape, array(kind, data[start:])


class Check:
    def __init__(self, tool, data, verbose):
        self.tool, self.data, self.verbose = str(Path(tool).resolve()), data, verbose
        self.passed = self.failed = 0

    def run(self, *args):
        r = subprocess.run([self.tool, *map(str, args)], capture_output=True, text=True, timeout=60)
        if r.returncode:
            raise ValueError(f"{' '.join(map(str, args))}: exit {r.returncode}: {r.stderr.strip()}")
        return r.stdout

    def array(self, *args):
        self.run(*args, "--force", "-o", "out.npy")
        return npy("out.npy")

    def position(self, *args):
        return self.array("position", *args)

    def near(self, got, want, tolerance):
        """Shapes are equal, and no value is further off than its tolerance."""
        if got[0] != want[0]:
            raise ValueError(f"shape {got[0]}, expected {want[0]}")
        for i, (a, b) in enumerate(zip(got[1], want[1])):
            if not abs(a - b) <= tolerance(i):
                raise ValueError(f"value {i}: {a}, expected {b} within {tolerance(i)}")

    def case(self, name, fn, *args):
        try:
            fn(*args)
            self.passed += 1
            if self.verbose:
                print(f"ok   {name}")
        except ValueError as why:
            self.failed += 1
            print(f"FAIL {name}: {why}")

    def file(self, name):
        return npy(self.data / name)

    # -------------------------------------------------------------------------- sinusoidal

    def sinusoidal(self, c, dtype):
        got = self.position("sinusoidal", "-L", c["length"], "-D", c["dims"], "--base", c["base"], "--start", c["start"],
                            "--dtype", dtype)
        # an angle near 10^6 is known to 10^-10 or so
        slack = max(1.0, (c["start"] + c["length"]) / 1000)
        self.near(got, self.file(c["f64"]), lambda i: SINE_TOLERANCE[dtype] + 1e-13 * slack)

    # -------------------------------------------------------------------------- rotary

    @staticmethod
    def bound(c, position, pair):
        blend, angle = c.get("f32_blend", 0), position * c["inv_freq_f64"][pair]
        return c["attention_scaling"] * ((4 + 2 * blend) * 2.0 ** -24 * angle + 2.0 ** -22)

    def tables(self, c, options):
        pairs, start = len(c["inv_freq_f64"]), c["start"]
        shape, got = self.position("rope", "-L", c["length"], "--start", start, *options)
        if shape != [2, c["length"], pairs]:
            raise ValueError(f"shape {shape}")
        half = c["length"] * pairs
        kind = "f32" if "cos_f32" in c else "f64"
        for k, name in enumerate(("cos", "sin")):
            part = [c["length"], pairs], got[k * half:(k + 1) * half]
            self.near(part, self.file(c[f"{name}_{kind}"]), lambda i: self.bound(c, start + i // pairs, i % pairs))

    def turned(self, c, options, name, want):
        shape, x = self.file(c[name])
        dims, pairs = c["head_dim"], len(c["inv_freq_f64"])
        neox = c["style"] == "neox"

        def tolerance(i):
            channel, row = i % dims, i - i % dims
            if channel >= 2 * pairs:
                return 0.0 if want.endswith("f32") else 1e-12
            pair = channel % pairs if neox else channel // 2
            a, b = (pair, pair + pairs) if neox else (2 * pair, 2 * pair + 1)
            position = c["start"] + i // dims % c["length"]
            return self.bound(c, position, pair) * (math.hypot(x[row + a], x[row + b]) + 0.1)
        got = self.position("rope", "--apply", self.data / c[name], "--start", c["start"], *options)
        self.near(got, self.file(c[want]), tolerance)

    def logits(self, c):
        shape, want = self.file(c["logits"])
        model, h, scale = ["-t", self.data / c["model"]], self.data / c["h"], c.get("scale", 1)
        self.near(self.array("logits", h, *model, "--as-model"), (shape, want), lambda i: 1e-5)
        self.near(self.array("logits", h, *model), (shape, [x / scale for x in want]), lambda i: 1e-5 / scale)
        v = shape[-1]
        rows = [want[i:i + v] for i in range(0, len(want), v)]
        shares = [math.exp(x) / math.fsum(map(math.exp, row)) for row in rows for x in row]
        self.near(self.array("logits", h, *model, "--as-model", "--softmax"), (shape, shares), lambda i: 3e-6)
        lines = [line.split("\t") for line in self.run("logits", h, *model, "--as-model", "--softmax", "-k", 5).splitlines()]
        if [int(line[0]) for line in lines] != [i for i in range(len(rows)) for _ in range(5)]:
            raise ValueError("not 5 lines for each hidden state")
        for at, (row, _, token, score, share) in enumerate(lines):
            row, token, place = int(row), int(token), at % 5
            best = sorted(rows[row], reverse=True)[place]
            if abs(rows[row][token] - best) > 2e-5 or abs(float(score) - best) > 2e-5 * max(1, abs(best)):
                raise ValueError(f"row {row} place {place}: token {token} with {score}, expected {best}")
            if abs(float(share) - shares[row * v + token]) > 3e-6:
                raise ValueError(f"row {row} token {token}: {share}, expected {shares[row * v + token]}")

    def ways(self, name, c):
        """Names and options that select the case."""
        style = [] if c["style"] == "neox" else ["--style", c["style"]]
        if "config" not in c:                      # "ntk, factor 4, base 10000"
            return [("options", ["-D", c["head_dim"], "--scaling", "ntk:4"])]
        sizes = {"hidden_size": c["head_dim"] * c["heads"], "num_attention_heads": c["heads"], "max_position_embeddings": 8192}
        if c["model_type"] == "gptj":
            sizes = {"n_embd": c["head_dim"] * c["heads"], "n_head": c["heads"]}
        out = []
        for spelling in ("config", "config_older_spelling"):
            if c.get(spelling) is not None:
                where = Path(f"{name}.{spelling}")
                where.mkdir()
                (where / "config.json").write_text(json.dumps({"model_type": c["model_type"], **sizes, **c[spelling]}))
                out.append((spelling, ["-t", where]))
        rope = c["config"].get("rope_parameters", {})
        keys = {k: v for k, v in rope.items() if k not in ("rope_type", "rope_theta", "partial_rotary_factor")}
        if "max_position_embeddings" in c["config"]:
            keys["max_position_embeddings"] = c["config"]["max_position_embeddings"]
        scaling = ",".join(f"{k}={json.dumps(v)}" for k, v in keys.items())
        options = ["-D", c["head_dim"], "--rotary-dims", c["rotary_dim"], *style, "--base", rope.get("rope_theta", 10000)]
        if scaling:
            options += ["--scaling", f"{rope['rope_type']}:{scaling}"]
        return out + [("options", options)]

    # -------------------------------------------------------------------------- inputs of models

    def lookup(self, c, *args):
        out = Path("out.npy")
        words = ["lookup", "-q", "-t", self.data / c["model"], "-i", self.data / c["ids"],
                 *(["--start", c["start"]] if "start" in c else []), *args, "--force", "-o", out]
        r = subprocess.run([self.tool, *map(str, words)], capture_output=True, text=True, timeout=60)
        if r.returncode:
            raise ValueError(f"{' '.join(map(str, words))}: exit {r.returncode}: {r.stderr.strip()}")
        return npy(out)

    def input_layer(self, c, want, tolerance, *args):
        shape, values = self.file(c[want])
        if want.endswith("_bits"):  # bf16, which .npy does not have
            bits = array("I", [x << 16 for x in values])
            values = array("f", bits.tobytes())
        self.near(self.lookup(c, *args), (shape, values), lambda i: tolerance)

    def inputs(self, name, c):
        norm = 3e-6 if name.startswith(("bert", "roberta")) else 0
        types = ["--type-ids", self.data / c["type_ids"]] if "type_ids" in c else []
        want = "x_bf16_bits" if "x_bf16_bits" in c else "x"
        self.case(f"input {name}", self.input_layer, c, want, norm, "--input-layer", *types)
        if types:
            self.case(f"input {name} of type 0", self.input_layer, c, "x_type0", norm, "--input-layer")
            self.case(f"input {name} by steps", self.input_layer, c, "x", norm, "--positions", "auto", "--layer-norm", *types)
            self.case(f"input {name} before the norm", self.input_layer, c, "before_layer_norm", 0, "--positions", "learned",
                      *types)
        if name.startswith("gemma"):
            self.case(f"input {name} by its scale", self.input_layer, c, want, 0, "--scale", "sqrt-d")
        if name.startswith(("gpt2", "opt")):
            self.case(f"input {name} by its positions", self.input_layer, c, "x", 0, "--positions", "learned")

    def all(self):
        manifest = json.loads((self.data / "manifest.json").read_text())
        for name, c in manifest["sinusoidal"].items():
            if c["formula"] == "interleaved":
                for dtype in SINE_TOLERANCE:
                    self.case(f"sinusoidal {name} {dtype}", self.sinusoidal, c, dtype)
        for name, c in manifest["rope"].items():
            for way, options in self.ways(name, c):
                self.case(f"rope {name} {way}", self.tables, c, options)
                for x in ("q", "k"):
                    for want in (f"{x}_rot_f32", f"{x}_rot_f64"):
                        if want in c:
                            self.case(f"rope {name} {way} {want}", self.turned, c, options, x, want)
        for name, c in manifest["logits"].items():
            self.case(f"logits {name}", self.logits, c)
        for name, c in manifest["embed"].items():
            self.inputs(name, c)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("tool")
    p.add_argument("--data", type=Path, default=HERE / "positions")
    p.add_argument("-v", action="store_true")
    a = p.parse_args()
    check = Check(a.tool, a.data.resolve(), a.v)
    with tempfile.TemporaryDirectory() as tmp:
        os.chdir(tmp)
        check.all()
        os.chdir("/")
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed or not check.passed else 0


if __name__ == "__main__":
    sys.exit(main())
