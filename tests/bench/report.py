"""Cells as lines for the terminal, and as the table of docs/performance.md."""


def verdict(r):
    """'met', 'missed: ...' or why it cannot be said."""
    if r["machine"] < 0.7:
        return f"not measured ({r['machine']:.0%} of the machine)"
    cell, ours, missed = r["cell"], r["embtool"]["ms"], []
    if cell.share and r["limit_ms"] and r["limit_ms"] / ours < cell.share:
        missed.append(f"{r['limit_ms'] / ours:.2f} of the limit, not {cell.share:g}")
    if cell.at_most and ours > cell.at_most:
        missed.append(f"{ours:.1f} ms, not {cell.at_most:g}")
    for peer, ratio in cell.ratios.items():
        if peer in r["peers"] and r["peers"][peer]["ms"] / ours < ratio:
            missed.append(f"{r['peers'][peer]['ms'] / ours:.1f} x {peer}, not {ratio:g}")
    return "missed: " + ", ".join(missed) if missed else "met"


def aims(cell):
    words = [f">= {cell.share:g} of the limit"] if cell.share else []
    words += [f"<= {cell.at_most:g} ms"] if cell.at_most else []
    return ", ".join(words + [f">= {ratio:g} x {peer}" for peer, ratio in cell.ratios.items()])


def show(ms):
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}"


def lines(r):
    """For people who wait."""
    ours = r["embtool"]
    share = f", {r['limit_ms'] / ours['ms']:.2f} of the limit {show(r['limit_ms'])}" if r["limit_ms"] else ""
    yield f"{r['cell'].number:4} {r['cell'].about}: {verdict(r)}"
    yield f"       {'embtool':18} {show(ours['ms']):>8} ms (median {show(ours['median_ms'])}, cpu {show(ours['cpu_ms'])}){share}"
    for peer, p in r["peers"].items():
        yield f"       {peer:18} {show(p['ms']):>8} ms (median {show(p['median_ms'])}, cpu {show(p['cpu_ms'])}), x {p['ms'] / ours['ms']:.1f}"
    for peer in r["missing"]:
        yield f"       {peer:18}  missing"
    for note in r["notes"]:
        yield f"       note: {note}"


def both(figures):
    """The least wall time and the least CPU time."""
    return f"{show(figures['ms'])} ({show(figures['cpu_ms'])})"


def markdown(results, about, limits):
    """The table of docs/performance.md: ms, and in brackets ms of CPU time."""
    yield f"{about['cpu']}, {about['cpus']} CPUs{' of a virtual machine' if about['virtual'] else ''}, {' '.join(about['sets'])}, " \
          f"{', '.join(about['caches'])}, {about['memory_gb']} GB, Linux {about['kernel']}. Best limits: " \
          + ", ".join(f"{name} {value:.3g}" for name, value in sorted(limits.items())) + "."
    yield ""
    yield "| # | cell | embtool | peers | limit | share | aim | |"
    yield "|---|---|---|---|---|---|---|---|"
    for r in results:
        ours = r["embtool"]["ms"]
        peers = ", ".join([f"{peer} {both(p)}" for peer, p in r["peers"].items()] + [f"{peer} missing" for peer in r["missing"]])
        limit, share = (show(r["limit_ms"]), f"{r['limit_ms'] / ours:.2f}") if r["limit_ms"] else ("", "")
        yield f"| {r['cell'].number} | {r['cell'].about} | {both(r['embtool'])} | {peers} | {limit} | {share} | {aims(r['cell'])} | {verdict(r)} |"


def as_json(results, about, limits):
    return {"machine": about, "best_limits": limits,
            "cells": [{**{k: v for k, v in r.items() if k != "cell"}, "number": r["cell"].number, "name": r["cell"].name,
                       "about": r["cell"].about, "aim": aims(r["cell"]), "verdict": verdict(r)} for r in results]}
