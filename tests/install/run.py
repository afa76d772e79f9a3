#!/usr/bin/env python3
"""What `make install` brings, used as its users do: run.py --build DIR [--only NAME].

Installs into empty folders, runs the staged program, builds docs/example.c against the library by pkg-config. What must
come out is said by numpy (tests/data/english.expected.json) or by hand. A check whose tool is not installed is skipped, with the
reason. One line a check, then `N passed, N failed, N skipped`.
"""
import argparse
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from checks import Skip, run_checks, tool   # noqa: E402

VERSION = re.search(r'define EMB_VERSION "(.*)"', (ROOT / "lib/emb.h").read_text())[1]
SONAME = "libemb.so." + VERSION.split(".")[0]
NEAREST = json.loads((ROOT / "tests/data/english.expected.json").read_text())["similar"][0]
LIMIT_S = 300


def run(*command, env=None, cwd=None, exit_code=0, silent=True):
    """Standard output of a command that must succeed, and write nothing to standard error if it is to be silent; or
    the standard error of one that must fail."""
    r = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=env, cwd=cwd, timeout=LIMIT_S,
                       stdin=subprocess.DEVNULL)
    said = f"{' '.join(map(str, command))}: exit {r.returncode}: {r.stdout[-500:]}{r.stderr[-1500:]}"
    assert r.returncode == exit_code, said
    assert exit_code or not (silent and r.stderr), said
    return r.stderr if exit_code else r.stdout


def equal(found, wanted, what):
    assert found == wanted, f"{what}: found {found}, expected {wanted}"


class Tree:
    """The build under test, and what it installs into."""

    def __init__(self, build):
        self.build, self.tool = build, build / "embtool"
        # Nothing of the make that runs the tests, nor of the user's own settings, reaches a check.
        self.env = {k: v for k, v in os.environ.items()
                    if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "DESTDIR", "EMBTOOL_TABLE", "prefix")}
        names = run("nm", "-D", build / "libemb.so")
        self.sanitizer = "asan" if "__asan" in names else "tsan" if "__tsan" in names else ""

    def make(self, *words, build=None):
        return run("make", "-C", ROOT, f"BUILD={build or self.build}", f"SAN={self.sanitizer}", *words, env=self.env)


def files_in(folder):
    """Path under the folder -> `link to X` or its mode, of all that is no folder."""
    found = {}
    for where, folders, names in os.walk(folder):
        for path in (Path(where, name) for name in folders + names):
            if path.is_symlink():
                found[str(path.relative_to(folder))] = f"link to {os.readlink(path)}"
            elif path.is_file():
                found[str(path.relative_to(folder))] = f"{stat.S_IMODE(path.stat().st_mode):o}"
    return found


def matches_numpy(text, what):
    """`... WORD ID SCORE` lines, or `WORD SCORE`: the three rows nearest to cat."""
    rows = [line.split() for line in text.splitlines()]
    equal([row[-3] if len(row) > 2 else row[0] for row in rows], NEAREST["words"][:3], what)
    for row, score in zip(rows, NEAREST["scores"]):
        assert abs(float(row[-1]) - score) < 1e-6, f"{what}: score {row[-1]}, expected {score}"


# ---------------------------------------------------------------- files

def contents(tree, tmp):
    """Install puts the files where the GNU folders say, and uninstall takes these and no others away."""
    where = ["prefix=/p", f"DESTDIR={tmp}/a root"]
    tree.make("install", *where)
    wanted = {
        "bin/embtool": "755", "include/emb.h": "644", "lib/libemb.a": "644", "lib/pkgconfig/emb.pc": "644",
        f"lib/libemb.so.{VERSION}": "755", f"lib/{SONAME}": f"link to libemb.so.{VERSION}",
        "lib/libemb.so": f"link to {SONAME}", "share/embtool/english.bin": "644",
        **{f"lib/embtool/{p.name}": "755" for p in tree.build.glob("libemb-*.so")}}
    found = {p.removeprefix("p/"): how for p, how in files_in(tmp / "a root").items()}
    equal(found, wanted, "installed")
    stranger = tmp / "a root/p/share/embtool/mine.bin"
    stranger.touch()
    tree.make("uninstall", *where)
    equal(list(files_in(tmp / "a root")), ["p/share/embtool/mine.bin"], "left by uninstall")
    stranger.unlink()
    tree.make("uninstall", *where)
    assert not stranger.parent.exists(), "share/embtool, empty, was left by uninstall"


def no_rebuild(tree, tmp):
    """Another prefix builds nothing: what was made before is installed as it is."""
    before = {p: p.stat().st_mtime_ns for p in (tree.tool, tree.build / "libemb.so")}
    said = tree.make("install", f"prefix={tmp}/home/.local")
    built = re.findall(r"^  (?:CC|LD|AR) .*", said, re.M)
    equal(built, [], "built by make install")
    equal({p: p.stat().st_mtime_ns for p in before}, before, "times")


def moved(tree, tmp):
    """The staged program finds the English table, and so it does when the tree is moved."""
    tree.make("install", "prefix=/usr/local", f"DESTDIR={tmp}/stage")
    query = ("similar", "-q", "-k", "3", "cat")
    matches_numpy(run(tmp / "stage/usr/local/bin/embtool", *query, env=tree.env, cwd=tmp), "staged")
    (tmp / "stage/usr/local").rename(tmp / "elsewhere")
    matches_numpy(run(tmp / "elsewhere/bin/embtool", *query, env=tree.env, cwd=tmp), "moved")


def layout(tree, tmp):
    """Folders that are not beside each other: the program is made for the way between them."""
    copy = tmp / "build"
    shutil.copytree(tree.build, copy, ignore=shutil.ignore_patterns("tests", "peers"))
    tree.make("install", "prefix=/p", "bindir=/p/tools/bin", "datadir=/srv/data", "libdir=/p/lib64",
              f"DESTDIR={tmp}/root", build=copy)
    matches_numpy(run(tmp / "root/p/tools/bin/embtool", "similar", "-q", "-k", "3", "cat", env=tree.env, cwd=tmp),
                  "another layout")
    text = (tmp / "root/p/lib64/pkgconfig/emb.pc").read_text()
    assert "libdir=${prefix}/lib64\n" in text, text


# ---------------------------------------------------------------- the library

def installed(tree, tmp):
    """A prefix with everything in it, and the environment in which pkg-config finds it."""
    if tree.sanitizer:
        raise Skip("the library was built with a sanitizer")
    prefix = tmp / "prefix"
    tree.make("install", f"prefix={prefix}")
    return prefix, {**tree.env, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}


def pkg_config(tree, tmp):
    """pkg-config says the version, the flags, what a static link needs, and follows a moved tree."""
    prefix, env = installed(tree, tmp)
    ask = lambda *words: run(tool("pkg-config"), *words, "emb", env=env).split()
    equal(ask("--modversion"), [VERSION], "version")
    equal(ask("--cflags", "--libs"), [f"-I{prefix}/include", f"-L{prefix}/lib", "-lemb"], "flags")
    static = ask("--static", "--libs")
    assert {f"-L{prefix}/lib", "-lemb", "-lz", "-pthread", "-lm"} <= set(static), f"static flags: {static}"
    prefix.rename(tmp / "moved")
    env["PKG_CONFIG_PATH"] = str(tmp / "moved/lib/pkgconfig")
    equal(ask("--define-prefix", "--cflags"), [f"-I{tmp}/moved/include"], "flags of a moved tree")


LANGUAGES = {"C11": (("cc", "gcc"), ["-std=c11", "-x", "c"]), "C++17": (("c++", "g++"), ["-std=c++17", "-x", "c++"])}


def build_example(env, tmp, language, static):
    names, flags = LANGUAGES[language]
    words = ["--static"] if static else []
    cflags = run(tool("pkg-config"), "--cflags", "emb", env=env).split()
    libs = run("pkg-config", *words, "--libs", "emb", env=env).split()
    # -Werror is for the compiler; a linker may remark on functions of the C library that load plugins.
    run(tool(*names), *flags, "-Wall", "-Wextra", "-pedantic", "-Werror", *cflags, ROOT / "docs/example.c", "-x", "none",
        *(["-static"] if static else []), *libs, "-o", tmp / "example", env=env, silent=False)
    return tmp / "example"


def use_example(tree, tmp, language, static):
    prefix, env = installed(tree, tmp)
    program = build_example(env, tmp, language, static)
    loaded = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", program))
    equal(SONAME in loaded, not static, f"{SONAME} among the libraries loaded, {loaded}")
    equal(loaded == [], static, "no library is loaded")
    env["LD_LIBRARY_PATH"] = str(prefix / "lib")
    table = prefix / "share/embtool/english.bin"
    matches_numpy(run(program, table, "cat", env=env), "example")
    said = run(program, table, "catttt", env=env, exit_code=1)
    assert "not in the vocabulary" in said, said
    assert "No such file" in run(program, tmp / "none.bin", "cat", env=env, exit_code=1)
    assert run(program, env=env, exit_code=2).startswith("usage:")


def example_c_shared(tree, tmp):
    """docs/example.c as C11 with the shared library."""
    use_example(tree, tmp, "C11", False)


def example_c_static(tree, tmp):
    """docs/example.c as C11, linked statically."""
    use_example(tree, tmp, "C11", True)


def example_cxx_shared(tree, tmp):
    """docs/example.c as C++17 with the shared library."""
    use_example(tree, tmp, "C++17", False)


def example_cxx_static(tree, tmp):
    """docs/example.c as C++17, linked statically."""
    use_example(tree, tmp, "C++17", True)


CHECKS = [contents, no_rebuild, moved, layout, pkg_config, example_c_shared, example_c_static, example_cxx_shared,
          example_cxx_static]


def call(check, tree):
    with tempfile.TemporaryDirectory(prefix="embtool-install-") as tmp:
        try:
            check(tree, Path(tmp).resolve())
        except subprocess.TimeoutExpired as e:
            raise AssertionError(str(e)) from e


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", type=Path, required=True)
    p.add_argument("--only", action="append")
    a = p.parse_args()
    tree = Tree(a.build.resolve())
    return run_checks(CHECKS, a.only, lambda check: call(check, tree))


if __name__ == "__main__":
    sys.exit(main())
