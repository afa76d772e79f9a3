#!/usr/bin/env python3
"""What the design promises about the code, checked as facts: run.py --build DIR [--only NAME].

Layers, exports, what the library may not call, the public header on its own, libraries that the
program loads, format, static analysis. One line a check, then `N passed, N failed, N skipped`.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from checks import Skip, run_checks, tool   # noqa: E402

LIB, CMD = ROOT / "lib", ROOT / "cmd"
C_FILES = sorted([*LIB.glob("*/*.c"), *CMD.rglob("*.c")])
KERNELS = sorted([*LIB.glob("*/*.cu"), *LIB.glob("*/*.cuh")])
SOURCES = sorted([*C_FILES, *KERNELS, *LIB.glob("*/*.h"), *CMD.rglob("*.h"), LIB / "emb.h"])


def pinned(name, version):
    """The tool in that version: another one lays out or finds other things."""
    program = tool(f"{name}-{version}", name)
    if f"version {version}." not in output(program, "--version"):
        raise Skip(f"{name} is pinned to version {version}")
    return program


def output(*command):
    r = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace")
    if r.returncode:
        raise AssertionError(f"{command[0]}: exit {r.returncode}: {(r.stdout + r.stderr).strip()[:2000]}")
    return r.stdout


def expect(bad, what):
    assert not bad, what + ":\n    " + "\n    ".join(map(str, list(bad)[:20]))


# ---------------------------------------------------------------- the checks

# Each layer may include what stands to its left, and itself; num and io do not see each other.
MAY_SEE = {
    "util": {"util"},
    "num": {"util", "num"},
    "io": {"util", "io"},
    "fmt": {"util", "num", "io", "fmt"},
    "dev": {"util", "num", "io", "dev"},
    "blas": {"dev"},                              # plugins: the header that each shares with its loader
    "http": {"io", "http"},
    "cuda": {"util", "num", "dev", "cuda"},       # headers alone: the plugin imports nothing
    "table": {"util", "num", "io", "fmt", "dev", "table"},
    "model": {"util", "num", "io", "fmt", "dev", "table", "model"},
    "ops": {"util", "num", "io", "fmt", "dev", "table", "model", "ops"},
}
BORROWED = {"util/buf.h", "util/json.h"}          # by cmd
OWNERS = {"zlib.h": "lib/io/zip.c lib/io/inflate.c lib/io/crc.c", "curl/curl.h": "lib/http/", "cblas.h": "lib/blas/",
          "dlfcn.h": "lib/dev/load.c lib/cuda/driver.c", "pcre2.h": "lib/util/regex.c",
          "utf8proc.h": "lib/util/unicode.c"}


def includes(path):
    return re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', path.read_text(), re.M)


def layers(_):
    """A file includes only what its layer may see; one owner for each outside library."""
    bad = []
    for path in SOURCES:
        here = path.relative_to(ROOT)
        layer = path.parent.name if path.is_relative_to(LIB) and path.parent != LIB else "cmd"
        for name in includes(path):
            owner = OWNERS.get(name)
            if owner and not any(str(here).startswith(o) for o in owner.split()):
                bad.append(f"{here} includes <{name}>, which belongs to {owner}")
            top = name.split("/")[0]
            if "/" not in name or top not in MAY_SEE:
                continue
            if layer == "cmd" and name not in BORROWED and path != LIB / "emb.h":
                bad.append(f"{here} includes {name}: cmd sees emb.h, util/buf.h and util/json.h")
            elif layer != "cmd" and top not in MAY_SEE[layer]:
                bad.append(f"{here} includes {name}: {layer} stands left of {top}")
    expect(bad, "includes against the layers")


def declared():
    text = re.sub(r"/\*.*?\*/", "", (LIB / "emb.h").read_text(), flags=re.S)
    return set(re.findall(r"EMB_API[^;]*?\b(emb_\w+)\s*\(", text))


def exports(build):
    """libemb.so exports exactly the functions that emb.h declares."""
    names = {line.split()[-1] for line in output("nm", "-D", "--defined-only", build / "libemb.so").splitlines()}
    names -= {"_init", "_fini"}
    expect(sorted(names ^ declared()), "exported or declared, but not both")


FORBIDDEN = {"exit", "_exit", "abort", "stderr", "stdout", "printf", "puts", "perror", "getenv", "secure_getenv",
             "strtod", "strtof", "strtol", "atoi", "atof", "setlocale", "signal", "sigaction", "gets", "strcpy",
             "strcat", "sprintf", "vsprintf", "system", "popen", "rand", "srand", "__assert_fail", "strtok"}


def forbidden_calls(build):
    """libemb neither prints nor exits, and reads neither the environment nor the locale."""
    undefined = {line.split()[-1].split("@")[0] for line in output("nm", "-u", build / "libemb.a").splitlines()
                 if " U " in f" {line} "}
    expect(sorted(undefined & FORBIDDEN), "forbidden in libemb")


def no_globals(build):
    """libemb keeps no writable state: nothing in .data or .bss but tables that are read-only once relocated."""
    rows = re.findall(r"^[0-9a-f]+ .{7} (\S+)\t([0-9a-f]+) +(?:\.\w+ )?(\S+)$", output("objdump", "-t", build / "libemb.a"), re.M)
    assert rows, "objdump -t printed no symbols"
    bad = [f"{name} in {section}" for section, size, name in rows
           if re.match(r"(\.data|\.bss|\.tdata|\.tbss|\*COM\*)", section) and not section.startswith(".data.rel.ro")
           and int(size, 16)]
    expect(sorted(bad), "writable globals")


def header_alone(_):
    """emb.h compiles by itself as C11 and as C++17, and is at least 60 % comment."""
    with tempfile.TemporaryDirectory() as tmp:
        for compiler, flags, name in (("cc", ["-std=c11", "-pedantic"], "x.c"), ("c++", ["-std=c++17"], "x.cc")):
            path = Path(tmp, name)
            path.write_text('#include "emb.h"\nint main(void) { return emb_version() == 0; }\n')
            output(tool(compiler, "gcc"), *flags, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{LIB}", path)
    text = (LIB / "emb.h").read_text()
    comments = sum(len(c) for c in re.findall(r"/\*.*?\*/", text, re.S))
    share = comments / len(re.sub(r"[ \t]+\n", "\n", text))
    assert share >= 0.6, f"emb.h: {share:.0%} comment"


def loaded_libraries(build):
    """The program loads no BLAS, curl or CUDA library when it starts."""
    needed = re.findall(r"NEEDED.*\[(.*)\]", output(tool("readelf"), "-d", build / "embtool"))
    sanitizers = {n for n in needed if re.match(r"lib(asan|ubsan|tsan|stdc|gcc)", n)}
    allowed = {n for n in needed if re.match(r"(libc|libm|libz|libpcre2-8|libutf8proc|libpthread|ld-linux.*)\.so", n)}
    expect(sorted(set(needed) - allowed - sanitizers), "libraries that cost start-up")


LIBRARIES = {"blas": "blas", "http": "curl", "cuda": None}    # None: opened at run time


def plugins(build):
    """A plugin exports one function, imports nothing from libemb, and is linked to its library, or to none."""
    found = sorted((build / "lib/embtool").glob("libemb-*.so"))
    if not found:
        raise Skip("no plugin was built")
    for path in found:
        name = path.stem.removeprefix("libemb-")
        symbols = [line.split() for line in output("nm", "-D", path).splitlines()]
        expect(sorted({s[-1] for s in symbols if s[-2] not in "Uw"} ^ {f"embi_{name}_plugin"}), f"exports of {path.name}")
        expect(sorted(s[-1] for s in symbols if s[-2] in "Uw" and s[-1].startswith("emb")), f"imports of {path.name}")
        needed = re.findall(r"NEEDED.*\[(.*)\]", output(tool("readelf"), "-d", path))
        if LIBRARIES[name]:
            assert any(LIBRARIES[name] in n for n in needed), f"{path.name} needs {needed}"
        else:
            expect([n for n in needed if not re.match(r"(lib(c|dl|asan|ubsan|gcc_s)|ld-linux.*)\.so", n)], f"{path.name} needs")


BANNED_WORDS = {r"\bTODO\b|\bFIXME\b|\bXXX\b": "unfinished", r"\b(strtod|strtof|atof|sscanf)\s*\(": "locale",
                r"\b(sprintf|strcpy|strcat|gets|alloca)\s*\(": "unsafe",
                r"printf\s*\([^;]*%[-+ 0-9.*]*l?[fgeEGF]\b": "numbers for users go through emb_number_*"}


def banned_words(_):
    """Source text: nothing unfinished, nothing that depends on the locale."""
    bad = []
    for path in SOURCES:
        for at, line in enumerate(path.read_text().splitlines(), 1):
            bad += [f"{path.relative_to(ROOT)}:{at}: {why}" for word, why in BANNED_WORDS.items() if re.search(word, line)]
    expect(bad, "banned")


def line_length(_):
    """No line of lib/ and cmd/ has more than 100 columns; clang-format does not touch comments."""
    expect([f"{path.relative_to(ROOT)}:{at}: {len(line)} columns" for path in SOURCES
            for at, line in enumerate(path.read_text().splitlines(), 1) if len(line) > 100], "too wide")


def clang_format(_):
    """clang-format 14 has nothing to change."""
    program = pinned("clang-format", 14)
    files = [*SOURCES, ROOT / "docs/example.c", *sorted((ROOT / "tests").glob("unit/*.[ch]")),
             *sorted((ROOT / "tests").glob("kern/*.[ch]")), *sorted((ROOT / "tests").glob("bench/*.[ch]")),
             *sorted((ROOT / "tests").glob("faults/*.[ch]")),
             *sorted((ROOT / "tests").glob("fuzz/*.[ch]")), *sorted((ROOT / "tests").glob("gpu/*.[ch]")),
             *sorted((ROOT / "tests").glob("gpu/*.cc"))]
    r = subprocess.run([program, "--dry-run", "-Werror", *map(str, files)], capture_output=True, text=True, cwd=ROOT)
    expect(sorted({line.split(":")[0] for line in r.stderr.splitlines() if "error:" in line}), "not formatted")


def clang_tidy(build):
    """clang-tidy's analyzer and bug checks find nothing."""
    program = pinned("clang-tidy", 14)
    checks = "-*,clang-analyzer-*,bugprone-*,-bugprone-easily-swappable-parameters,-bugprone-narrowing-conversions," \
             "-bugprone-implicit-widening-of-multiplication-result,-bugprone-assignment-in-if-condition," \
             "-bugprone-reserved-identifier,-bugprone-not-null-terminated-result,-bugprone-sizeof-expression," \
             "-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling"
    flags = ["-std=c11", "-D_GNU_SOURCE", "-mavx2", "-mfma", "-mf16c",
             "-mbmi", "-mbmi2", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512bf16", "-mamx-tile", "-mamx-bf16",
             f"-I{LIB}", f"-I{CMD}", '-DEMBI_CUDA_FATBIN="kernels"',
             # paths through a function that are followed; the usual 225,000 take four times as long
             *(w for word in ("-analyzer-config", "max-nodes=50000") for w in ("-Xclang", word))]
    files = [f for f in C_FILES if f.parent.name != "blas" or (build / "lib/embtool/libemb-blas.so").exists()]
    def one(path):                        # a process each: in one process clang 14 mixes up va_lists of several files
        r = subprocess.run([program, "--quiet", f"--checks={checks}", str(path), "--", *flags], capture_output=True,
                           text=True, cwd=ROOT)
        return [line for line in r.stdout.splitlines() if "warning:" in line or "error:" in line]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = {line for lines in pool.map(one, files) for line in lines}
    expect(sorted(found), "clang-tidy")


def cppcheck(_):
    """cppcheck finds nothing."""
    r = subprocess.run([tool("cppcheck"), "-q", "-j2", "--enable=warning,portability", "--inline-suppr", "--std=c11",
                        f"-I{LIB}", f"-I{CMD}", str(LIB), str(CMD)], capture_output=True, text=True, cwd=ROOT)
    expect([line for line in r.stderr.splitlines() if re.search(r": (error|warning|portability):", line)], "cppcheck")


def options_documented(build):
    """docs/commands/X.md is there for each command and no other, and names each option of its -h and no other."""
    program = build / "embtool"
    help_text = output(program, "--help")
    commands = [c for c in re.findall(r"^\s+([a-z]+)\s{2,}", help_text, re.M) if c not in ("help",)]
    assert commands, "embtool --help lists no command"
    pages = {page.stem for page in (ROOT / "docs/commands").glob("*.md")}
    bad = [f"docs/commands/{name}.md: no such command" for name in sorted(pages - set(commands))]
    for command in commands:
        page = ROOT / "docs/commands" / f"{command}.md"
        listed = set(re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]*)", output(program, command, "-h")))
        written = set(re.findall(r"^\| .*$", page.read_text(), re.M)) if page.exists() else set()
        named = {o for row in written for o in re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]*)", row.split("|")[1])}
        bad += [f"{command}: {o} is not in its page's option table" for o in sorted(listed - named)]
        bad += [f"{command}: {o} is in its page, not in -h" for o in sorted(named - listed)]
    expect(bad, "options and pages")


NAMED_PATH = re.compile(r"(?<![\w/.-])(?:(?:lib|cmd|docs|tests)/[\w./*-]*|Makefile)")


def named_paths(text):
    """Paths of the repository; not one with NAME or WHAT in it, which stand for any."""
    paths = [m.removesuffix("**").rstrip("./") for m in NAMED_PATH.findall(text)]
    return [p for p in paths if not re.search(r"NAME|WHAT", p)]


def present(text):
    """A page without the sections whose heading says Planned."""
    return re.sub(r"^(#+) [^\n]*Planned.*?(?=^\1 |\Z)", "", text, flags=re.M | re.S)


def docs_paths(_):
    """Files of the repository that the pages name are there, and hold what design.md says is in them."""
    pages = {p: present(p.read_text()) for p in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]}
    bad = [f"{page.relative_to(ROOT)}: {path}" for page, text in pages.items()
           for path in named_paths(text) if not any(ROOT.glob(path))]
    where = re.findall(r"^\| (.*) \| (.*) \|$", pages[ROOT / "docs/design.md"].split("\n## 4. Where do I change")[1], re.M)
    assert len(where) > 20, "docs/design.md, section 4: the table of what to change where is gone"
    for task, files in where:
        found = [f for path in named_paths(files) for f in ROOT.glob(path) if f.suffix in (".c", ".h", ".py", "")]
        text = "".join(f.read_text() for f in found if f.is_file())
        bad += [f"{task}: no {words} in its files" for words in re.findall(r"`((?:struct )?\w+)`", files)
                if not re.search(rf"\b{words}\b", text)]
    expect(bad, "named, but not there")


CHECKS = [layers, exports, forbidden_calls, no_globals, header_alone, loaded_libraries, plugins, banned_words,
          line_length, clang_format, clang_tidy, cppcheck, options_documented, docs_paths]


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", type=Path, required=True)
    p.add_argument("--only", action="append")
    a = p.parse_args()
    return run_checks(CHECKS, a.only, lambda check: check(a.build.resolve()))


if __name__ == "__main__":
    sys.exit(main())
