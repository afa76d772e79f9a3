#!/usr/bin/env python3
"""What `make install` brings, used as its users do: run.py --build DIR [--only NAME].

Installs into empty folders, runs the staged program, builds docs/example.c against the library by pkg-config, reads
the man pages with their own tools and presses TAB in bash, zsh and fish. What must come out is said by the -h texts,
by numpy (tests/data/english.expected.json) or by hand. A check whose tool is not installed is skipped, with the
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

import shells

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from checks import Skip, run_checks, tool   # noqa: E402

VERSION = re.search(r'define EMB_VERSION "(.*)"', (ROOT / "lib/emb.h").read_text())[1]
# A change of MINOR may break programs while MAJOR is 0.
SONAME = "libemb.so." + re.match(r"0\.\d+|\d+", VERSION)[0]
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

    def plugins(self):
        return sorted((self.build / "lib/embtool").glob("libemb-*.so"))

    def commands(self):
        return re.findall(r"^  ([a-z]+) ", run(self.tool, "--help"), re.M)

    def labels(self, command):
        """`-k, --top-k N` of each option, as -h has them."""
        text = run(self.tool, command, "-h", env={**self.env, "COLUMNS": "80"})
        return re.findall(r"^(?:  |      )(-.*?)(?=  |$)", text, re.M)

    def options(self, command):
        """The names of all options."""
        return [word.rstrip(",") for label in self.labels(command) for word in label.split()
                if re.match(r"--?[a-z]", word, re.I)]

    def choices(self, command):
        """Option -> words, for the options that take one of several."""
        found = {}
        for label in self.labels(command):
            names = [w.rstrip(",") for w in label.split() if w.startswith("-")]
            value = label.split()[-1]
            if "|" in value:
                found.update({name: value.split("|") for name in names})
        return found


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
        "share/bash-completion/completions/embtool": "644", "share/zsh/site-functions/_embtool": "644",
        "share/fish/vendor_completions.d/embtool.fish": "644", "share/man/man1/embtool.1": "644",
        **{f"share/man/man1/embtool-{c}.1": "644" for c in tree.commands()},
        **{f"lib/embtool/{p.name}": "755" for p in tree.plugins()}}
    found = {p.removeprefix("p/"): how for p, how in files_in(tmp / "a root").items()}
    equal(found, wanted, "installed")
    stranger = tmp / "a root/p/share/embtool/mine.bin"
    stranger.touch()
    tree.make("uninstall", "have_blas=", *where)     # the plugin goes even where OpenBLAS is gone
    equal(list(files_in(tmp / "a root")), ["p/share/embtool/mine.bin"], "left by uninstall")
    stranger.unlink()
    tree.make("uninstall", *where)
    assert not stranger.parent.exists(), "share/embtool, empty, was left by uninstall"


def no_rebuild(tree, tmp):
    """Another prefix builds nothing: what was made before is installed as it is."""
    before = {p: p.stat().st_mtime_ns for p in (tree.tool, tree.build / "libemb.so", tree.build / "man/embtool.1")}
    said = tree.make("install", f"prefix={tmp}/home/.local")
    built = re.findall(r"^  (?:CC|LD|AR|GEN) .*", said, re.M)
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
    version = run(tmp / "root/p/tools/bin/embtool", "--version", env=tree.env, cwd=tmp)
    equal("blas openblas" in version, bool(tree.plugins()), "the plugin is found in another layout")
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
    equal(ask("--variable=plugindir"), [f"{prefix}/lib/embtool"], "the folder of plugins")
    equal(ask("--cflags", "--libs"), [f"-I{prefix}/include", f"-L{prefix}/lib", "-lemb"], "flags")
    static = ask("--static", "--libs")
    assert {f"-L{prefix}/lib", "-lemb", "-lz", "-pthread", "-lm"} <= set(static), f"static flags: {static}"
    prefix.rename(tmp / "moved")
    env["PKG_CONFIG_PATH"] = str(tmp / "moved/lib/pkgconfig")
    equal(ask("--define-prefix", "--cflags"), [f"-I{tmp}/moved/include"], "flags of a moved tree")
    equal(ask("--define-prefix", "--variable=plugindir"), [f"{tmp}/moved/lib/embtool"], "plugins of a moved tree")


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


# ---------------------------------------------------------------- man pages

SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "SEE ALSO"]


def pages(tree):
    found = sorted((tree.build / "man").glob("*.1"))
    equal([p.name for p in found], sorted(["embtool.1", *(f"embtool-{c}.1" for c in tree.commands())]), "pages")
    return found


def man_mandoc(tree, _):
    """mandoc's lint has nothing to say about a page."""
    equal(run(tool("mandoc"), "-T", "lint", *pages(tree)), "", "mandoc")


def man_groff(tree, _):
    """groff formats each page without a warning."""
    for page in pages(tree):
        assert "SEE ALSO" in re.sub(r"\x1b\[\d+m|.\x08", "", run(tool("groff"), "-ww", "-man", "-Tutf8", page)), page


def man_options(tree, _):
    """A page has all sections, and the labels of -h in their order."""
    for command in tree.commands():
        text = (tree.build / f"man/embtool-{command}.1").read_text()
        equal(re.findall(r"^\.SH (.*)", text, re.M), SECTIONS, command)
        options = text.partition(".SH OPTIONS")[2].partition(".SH EXAMPLES")[0]
        labels = re.findall(r"^\.TP\n(.*)", options, re.M)
        equal([re.sub(r"\\f.", "", label).replace("\\-", "-") for label in labels], tree.labels(command), command)


def man_environment(tree, _):
    """embtool(1) names each variable that the program reads, and no other."""
    calls = re.findall(r'(?:variable|either)\("(\w+)"(?:, "(\w+)")?\)', (ROOT / "cmd/main.c").read_text())
    read = {name for call in calls for name in call if name}
    text = (tree.build / "man/embtool.1").read_text().partition(".SH ENVIRONMENT")[2]
    equal(sorted(re.findall(r"^\.B (\w+)", text, re.M)), sorted(read), "variables")


def man_exit_status(tree, _):
    """Each page has the exit codes, and what they mean, of the table in docs/errors.md."""
    table = (ROOT / "docs/errors.md").read_text().partition("| exit code | meaning |")[2].partition("\n\n")[0]
    wanted = {code: about.replace("`", "") for code, about in re.findall(r"^\| (\d+) \| (.*) \|$", table, re.M)}
    assert wanted, "docs/errors.md has no table of exit codes"
    for page in pages(tree):
        text = page.read_text().partition(".SH EXIT STATUS\n")[2].partition(".SH")[0]
        found = re.findall(r"^\.TP\n\.B (\d+)\n((?:[^.].*\n)+)", text, re.M)
        equal({code: " ".join(about.replace("\\-", "-").split()) for code, about in found}, wanted, page.name)


# ---------------------------------------------------------------- completion

# What is typed, TAB being \t, and the words that the command then gets. The folder holds words.bin, `my list.txt` and
# the folder model.
TYPED = {
    "res\t": "resize",
    "help si\t": "help similar",
    "similar --metr\tco\t": "similar --metric cosine",
    "similar --metric eu\t": "similar --metric euclidean",
    "similar -O js\t": "similar -O json",
    "lookup --dtype bf\t": "lookup --dtype bf16",
    "similar lookup --far\t": "similar lookup --farthest",
    "lookup -t wo\t": "lookup -t words.bin",
    "similar --tokens-file my\t": "similar --tokens-file my list.txt",
    "similar --tokens-file=wo\t": "similar --tokens-file words.bin",
    "stats wo\t": "stats words.bin",
    "resize wo\t": "resize words.bin",
    "init --like m\t": "init --like model",
    "init --like w\t": "init --like w",
    "lookup wo\t": "lookup wo",
    "similar --id wo\t": "similar --id wo",
    "stats -- --js\t": "stats -- --js",
}


def folder(tmp):
    for name in ("words.bin", "my list.txt"):
        (tmp / name).touch()
    (tmp / "model").mkdir()
    return tmp


def unique(tree):
    """`COMMAND --optio` for each option that these letters leave no doubt about -> the whole."""
    for command in tree.commands():
        names = tree.options(command)
        for name in names:
            if len(name) > 3 and sum(other.startswith(name[:-1]) for other in names) == 1:
                yield f"{command} {name[:-1]}\t", f"{command} {name}"


def press_tab(tree, tmp, session):
    """Each line as it is typed into a shell; `--name=value` and `--name value` are the same,
    and so are a folder with a slash and without."""
    lines = {**TYPED, **dict(unique(tree))}
    with session:
        for typed, wanted in lines.items():
            found = session.type_line(f"embtool {typed}").replace("=", " ").strip(" /")
            equal(found, wanted, f"after {typed!r}")


def bash_tab(tree, tmp):
    """TAB in an interactive bash."""
    press_tab(tree, tmp, shells.Bash(tool("bash"), tree.build / "completion/bash", folder(tmp)))


def zsh_tab(tree, tmp):
    """TAB in an interactive zsh."""
    press_tab(tree, tmp, shells.Zsh(tool("zsh"), tree.build / "completion/zsh", folder(tmp)))


def bash_replies(tree, tmp):
    """The function that bash calls proposes all options, and all words that an option may take."""
    ask = lambda *words: shells.bash_replies(tool("bash"), tree.build / "completion/bash", ["embtool", *words])
    for command in tree.commands():
        equal(ask(command, "-"), tree.options(command), command)
        for name, words in tree.choices(command).items():
            equal(ask(command, name, ""), words, f"{command} {name}")
            equal(ask(command, name, "=", words[-1][:-1]),
                  [w for w in words if w.startswith(words[-1][:-1])], f"{command} {name}=")


def fish_replies(tree, tmp):
    """fish proposes all options, all words that an option may take, and files where one is meant."""
    ask = shells.Fish(tool("fish"), tree.build / "completion/fish", folder(tmp)).replies
    equal(ask("embtool similar --ba"), ["--backend"], "similar --ba")
    for command in tree.commands():
        names = {n for n in tree.options(command) if n.startswith("--")}
        equal(set(ask(f"embtool {command} --")), names, command)
        for name, words in tree.choices(command).items():
            equal(sorted(ask(f"embtool {command} {name} ")), sorted(words), f"{command} {name}")
    for line, wanted in {"stats w": ["words.bin"], "lookup w": [], "lookup -i w": ["words.bin"], "init --like m": ["model/"],
                         "init --like w": [], "help st": ["stats"], "sim": ["similar"], "similar stats --colu": []}.items():
        equal(ask(f"embtool {line}"), wanted, line)


CHECKS = [contents, no_rebuild, moved, layout, pkg_config, example_c_shared, example_c_static, example_cxx_shared,
          example_cxx_static, man_mandoc, man_groff, man_options, man_environment, man_exit_status, bash_replies,
          bash_tab, zsh_tab, fish_replies]


def call(check, tree):
    with tempfile.TemporaryDirectory(prefix="embtool-install-") as tmp:
        try:
            check(tree, Path(tmp).resolve())
        except (subprocess.TimeoutExpired, shells.Silent) as e:
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
