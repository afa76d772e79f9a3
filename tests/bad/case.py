"""What a case is. The tables of cases are in table_*.py; run.py runs them."""
from dataclasses import dataclass, field


@dataclass
class Case:
    """One bad input: `embtool ARGS`, or a shell command, in a folder with `files`.

    err is all of stderr; where it is of one line, `embtool: COMMAND: ` before it and the line end are left out.
    Nothing may be on stdout but `out`, and no file may be there that was not there before.
    """
    name: str
    args: str
    code: int
    err: str
    files: dict = field(default_factory=dict)
    stdin: bytes = b""
    out: bytes = b""
    shell: bool = False

    def stderr(self):
        if self.shell or self.err.endswith("\n") or not self.err:
            return self.err
        return f"embtool: {self.args.split()[0]}: {self.err}\n"
