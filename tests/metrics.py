#!/usr/bin/env python3
"""Lengths of files and functions and the share of comments, by layer, beside those of code that we look up to.

Figures to judge by, not a gate: a short function, one idea a file and comments that say why are the aim, and moving
lines to please a number is not. Functions come from universal-ctags; a function's length is its lines from name to
closing brace. Lengths are median / 90th percentile / longest. A comment line holds nothing else; its share is of the
lines that are not blank. Files that a script wrote are left out.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GENERATED = {"decimal_powers.c"}
LONG_FUNCTION, LONG_FILE = 40, 400          # docs/contributing.md

# Counted once, in the same way, at the commits named: files, functions, per cent of comment; ggml's files have no p90.
OTHERS = [
    ("htslib", "710 / 4229 / 6658", "18 / 77 / 826", "13"),              # cb88c90b
    ("zstd, lib", "208 / 1882 / 7204", "10 / 56 / 364", "25"),           # 2dddf0905
    ("libarchive", "275 / 2530 / 8205", "16 / 84 / 986", "17"),          # 4fe6c584
    ("libdeflate, lib", "166 / 594 / 4135", "16 / 102 / 728", "36"),     # 28e88e9
    ("git, builtin", "351 / 1967 / 5537", "20 / 76 / 833", "9"),         # 1a3e64c6
    ("curl, lib", "162 / 1256 / 5572", "19 / 77 / 407", "16-18"),        # 5c61e168
    ("ggml, core", "1989 / - / 8051", "8 / 38 / 629", "5"),              # d99724f2
    ("llm.c, gguf-tools", "222 / 1182 / 1904", "14 / 64 / 485", "20-26"),   # f1e2ace, 8fa6eb6
]
OTHER_HEADERS = "zstd.h 71, libdeflate.h 70, htslib's hfile.h 59, archive.h 43"

# A comment, or a literal that may look like one.
TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
MARK = "\x01"


def comment_share(paths):
    """Comment lines of the lines that are not blank, in per cent."""
    def mark(m):
        return re.sub(r"[^\n]", MARK, m[0]) if m[0].startswith("/") else m[0]
    lines = [line.strip() for p in paths for line in TOKEN.sub(mark, p.read_text()).splitlines()]
    lines = [line for line in lines if line]
    return 100 * sum(not line.replace(MARK, "").strip() for line in lines) / len(lines)


def functions(paths):
    """(lines, name, file, first line) of each function."""
    said = subprocess.run(["ctags", "-f", "-", "--kinds-C=f", "--language-force=C", "--fields=ne", "--excmd=number",
                           *map(str, paths)], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^(\S+)\t(\S+)\t.*\tline:(\d+).*\tend:(\d+)", said, re.M)
    return [(int(end) - int(first) + 1, name, Path(path).relative_to(ROOT), int(first)) for name, path, first, end in found]


def spread(lengths):
    s = sorted(lengths)
    return f"{s[len(s) // 2]} / {s[len(s) * 9 // 10]} / {s[-1]}" if s else "-"


def row(name, files, functions_, comments):
    print(f"{name:18} {files:>22} {functions_:>20} {comments:>9}")


def report(name, paths):
    lengths = [len(p.read_text().splitlines()) for p in paths]
    found = functions(paths)
    row(name, f"{len(paths):4}: {spread(lengths)}", f"{len(found):5}: {spread([f[0] for f in found])}",
        f"{comment_share(paths):.0f}")
    return [(n, str(p.relative_to(ROOT))) for n, p in zip(lengths, paths) if n > LONG_FILE], \
        [f for f in found if f[0] > LONG_FUNCTION]


def sources(folder):
    return sorted(p for p in folder.glob("*.[ch]") if p.name not in GENERATED)


def main():
    if not shutil.which("ctags"):
        print("skip metrics: universal-ctags is not installed")
        return 0
    row("", "files", "functions", "comment %")
    layers = [*sorted(p for p in (ROOT / "lib").iterdir() if sources(p)), ROOT / "cmd", ROOT / "cmd/gen"]
    for folder in layers:
        report(str(folder.relative_to(ROOT)), sources(folder))
    long_files, long_functions = report("lib and cmd", [p for folder in layers for p in sources(folder)])
    for folder in ("tests/unit", "tests/kern"):
        report(folder, sources(ROOT / folder))
    print()
    for other in OTHERS:
        row(*other)
    print(f"\nComment lines of lib/emb.h: {comment_share([ROOT / 'lib/emb.h']):.0f} %; {OTHER_HEADERS}")
    print("(emb.h says much of it behind its members, on lines that do not count here)")
    print(f"Files above {LONG_FILE} lines: {len(long_files)}; functions above {LONG_FUNCTION}: {len(long_functions)}")
    for n, path in sorted(long_files, reverse=True):
        print(f"  {n:4}  {path}")
    for n, name, path, first in sorted(long_functions, reverse=True):
        print(f"  {n:4}  {name}, {path}:{first}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
