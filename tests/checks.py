"""What the suites that are lists of checks (lint, install) share.

A check is a function. Its docstring says in one line what holds; it raises AssertionError where that does not hold,
and Skip, with the reason, where it cannot be told.
"""
import shutil


class Skip(Exception):
    pass


def tool(*names):
    """The first of these programs that is installed."""
    for name in names:
        if shutil.which(name):
            return name
    raise Skip(f"{names[0]} is not installed")


def run_checks(checks, only, call):
    """One line a check, then the counts; true if one failed. call(check) runs it."""
    counts = {"ok": 0, "FAIL": 0, "skip": 0}
    for check in checks:
        if only and check.__name__ not in only:
            continue
        try:
            call(check)
            result, why = "ok", check.__doc__
        except Skip as e:
            result, why = "skip", str(e)
        except AssertionError as e:
            result, why = "FAIL", str(e)
        counts[result] += 1
        print(f"{result:4} {check.__name__}: {why}", flush=True)
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
    return counts["FAIL"] > 0
