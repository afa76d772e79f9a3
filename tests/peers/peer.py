"""What the peer tests share: running the tool, counting, and the values that are compared."""
import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

TOOL = str(Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else "embtool"
DATA = Path(__file__).resolve().parent.parent / "data"


class Skip(Exception):
    """Why a test cannot run here."""


def library(name):
    """The module, or the test is skipped."""
    try:
        return __import__(name)
    except ImportError:
        raise Skip(f"package {name} is not installed") from None


def run(*args, stdin=b"", code=0):
    """stdout of one run in the current directory; the exit code must be `code`."""
    r = subprocess.run([TOOL, *map(str, args)], input=stdin, capture_output=True, timeout=300)
    assert r.returncode == code, f"{' '.join(map(str, args))}: exit {r.returncode}: {r.stderr.decode(errors='replace')[:400]}"
    return r.stdout


def objects(*args, **how):
    """The JSON objects of one run."""
    return [json.loads(line) for line in run(args[0], "--json", *args[1:], **how).splitlines()]


def main(tests):
    """Each test in a directory of its own; then `N passed, N failed, N skipped`."""
    passed = failed = skipped = 0
    for test in tests:
        with tempfile.TemporaryDirectory() as tmp:
            os.chdir(tmp)
            try:
                test()
                passed += 1
                print(f"ok   {test.__name__}")
            except Skip as why:
                skipped += 1
                print(f"skip {test.__name__}: {why}")
            except Exception:
                failed += 1
                print(f"FAIL {test.__name__}: {traceback.format_exc(limit=-2)}")
            os.chdir("/")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed > 0)
