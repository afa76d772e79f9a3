#!/usr/bin/env python3
"""Checks of tables on servers, which run on loopback: run.py EMBTOOL [NAME ...]. Several at a time: most of them wait."""
import argparse
import concurrent.futures
import re
import signal
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent.parent / "cases")]
import far  # noqa: E402
from checks import run_checks  # noqa: E402

import directories  # noqa: E402
import faults  # noqa: E402
import figures  # noqa: E402
import hub  # noqa: E402
import kept  # noqa: E402
import logins  # noqa: E402
import s3  # noqa: E402
import servers  # noqa: E402
import ways  # noqa: E402

TABLE = Path(__file__).resolve().parents[2] / "docs/testing.md"


def every_fault_documented():
    """The table of faults in docs/testing.md names checks that there are, and all of faults.py."""
    rows = TABLE.read_text().split("## Faults of servers")[1].split("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", "".join(row.rsplit("|", 2)[1] for row in rows.splitlines() if row.startswith("| "))))
    there = {c.__name__ for m in MODULES for c in m.CHECKS}
    assert named <= there and {c.__name__ for c in faults.CHECKS} <= named, (named - there, {c.__name__ for c in faults.CHECKS} - named)


MODULES = (ways, servers, logins, s3, kept, hub, directories, figures, faults)
p = argparse.ArgumentParser(description=__doc__)
p.add_argument("tool")
p.add_argument("only", nargs="*")
p.add_argument("--quick", action="store_true", help="without the check that waits for 33 s")
a = p.parse_args()
# Programs that are interrupted below must not inherit that SIGINT is ignored, as it is in the background of a shell.
signal.signal(signal.SIGINT, signal.default_int_handler)
far.TOOL = str(Path(a.tool).resolve())
checks = [c for c in (every_fault_documented, *(c for m in MODULES for c in m.CHECKS))
          if (not a.only or c.__name__ in a.only) and not (a.quick and c is faults.stall)]
# One puts another program in place of the tool, the others take much memory.
alone = [c for c in checks if c.__name__ == "without_the_plugin" or c in figures.CHECKS]
with concurrent.futures.ThreadPoolExecutor(12) as pool:
    begun = {c: pool.submit(c) for c in checks if c not in alone}
    concurrent.futures.wait(begun.values())
sys.exit(run_checks(checks, (), lambda c: c() if c in alone else begun[c].result()))
