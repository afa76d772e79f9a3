"""Shells as a person uses them: a terminal, keys pressed, and what the command then gets.

Bash and Zsh run in a pseudo-terminal where `embtool` is a function that prints its arguments between < and >. Each
shell runs without the user's settings, in a folder of its own.
"""
import os
import pty
import select
import subprocess
import time

LIMIT_S = 20


class Silent(Exception):
    """A shell did not answer."""


def environment(folder):
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C"}


class Session:
    """An interactive shell; subclasses say how to start it and what it reads first."""

    def __init__(self, program, script, folder):
        self.folder = folder
        start = folder / ".start"
        start.write_text(self.START.format(script=script, folder=folder))
        self.command = [program, *self.FLAGS]

    def __enter__(self):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(self.folder)
            os.execvpe(self.command[0], self.command, environment(self.folder))
        self.seen = b""
        os.write(self.terminal, b". ./.start\n")
        self.answer("(", ")")
        return self

    def __exit__(self, *_):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)

    def answer(self, begin, end):
        """The next text between two marks that no typed line holds."""
        until = time.monotonic() + LIMIT_S
        while True:
            head, found, rest = self.seen.partition(begin.encode())
            text, closed, after = rest.partition(end.encode())
            if found and closed:
                self.seen = after
                return text.decode()
            ready, _, _ = select.select([self.terminal], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise Silent(f"{self.command[0]} does not answer; it wrote {self.seen[-300:]}")
            self.seen += os.read(self.terminal, 4096)

    def type_line(self, line):
        """The arguments that the command got, with blanks between them."""
        os.write(self.terminal, line.encode() + b"\n")
        return self.answer("<", ">")


class Bash(Session):
    FLAGS = ["--norc", "--noprofile", "-i"]
    START = """PS1= PS2=
bind 'set bell-style none' 'set enable-bracketed-paste off'
. '{script}'
embtool() {{ printf '<%s>\\n' "$*"; }}
printf '(%s)\\n' ready
"""


class Zsh(Session):
    FLAGS = ["-f", "-i"]
    START = """PS1= PS2=
unsetopt prompt_sp beep
unset zle_bracketed_paste
zstyle ':completion:*' insert-tab false
autoload -Uz compinit && compinit -u -d '{folder}/.dump'
source '{script}'
embtool() {{ printf '<%s>\\n' "$*"; }}
printf '(%s)\\n' ready
"""


class Fish:
    def __init__(self, program, script, folder):
        self.program, self.script, self.folder = program, script, folder

    def replies(self, line):
        r = subprocess.run([self.program, "--no-config", "-c", f"source '{self.script}'; complete -C $argv[1]", line],
                           capture_output=True, text=True, env=environment(self.folder), cwd=self.folder,
                           stdin=subprocess.DEVNULL, timeout=LIMIT_S)
        assert not r.stderr, f"fish: {r.stderr}"
        return [reply.split("\t")[0] for reply in r.stdout.splitlines()]


def bash_replies(program, script, words):
    """COMPREPLY, with the cursor at the end of the last word."""
    code = '. "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _embtool; printf "%s\\n" "${COMPREPLY[@]}"'
    r = subprocess.run([program, "--norc", "-c", code, "bash", str(script), *words], capture_output=True, text=True,
                       stdin=subprocess.DEVNULL, timeout=LIMIT_S)
    assert r.returncode == 0 and not r.stderr, f"bash: {r.stderr}"
    return r.stdout.split()
