#!/usr/bin/env python3
"""What torch, and cuBLAS below it, take for the cells of bench_main: bench_torch.py [ROWS [DIMS [QUERIES]]] [--device NAME].

The same shapes, the same counting of bytes and products, the median of nine runs after one that is not counted. Where
torch is not there, or has no GPU, the one line says what is missing. --device cpu is for the tests.
"""
import argparse
import statistics
import sys
import time

REPEATS = 9
NARROW = 300


class Bench:
    """Tables on a device, and how long something takes there."""

    def __init__(self, torch, device, rows, dims, queries):
        self.torch, self.device, self.rows, self.dims = torch, device, rows, dims
        random = torch.Generator(device=device).manual_seed(7)
        self.wide = torch.empty(rows, dims, dtype=torch.bfloat16, device=device).normal_(0, 0.02, generator=random)
        self.narrow = torch.empty(rows, NARROW, dtype=torch.float32, device=device).normal_(0, 0.02, generator=random)
        self.queries = torch.empty(queries, dims, dtype=torch.bfloat16, device=device).normal_(generator=random)
        self.ids = torch.arange(rows, device=device) * 2654435761 % rows
        self.wide_out, self.narrow_out = torch.empty_like(self.wide), torch.empty_like(self.narrow)

    def wait(self):
        if self.device != "cpu":
            self.torch.cuda.synchronize()

    def seconds(self, work):
        taken = []
        for _ in range(REPEATS + 1):
            begin = time.perf_counter()
            work()
            self.wait()
            taken.append(time.perf_counter() - begin)
        return statistics.median(taken[1:])

    def moved(self, name, work, size):
        s = self.seconds(work)
        print(f"torch: {name:<29} {size / s / 1e9:8.1f} GB/s {s * 1e3:9.3f} ms")

    def multiplied(self, name, work, products):
        s = self.seconds(work)
        print(f"torch: {name:<29} {2 * products / s / 1e12:8.1f} TFLOP/s {s * 1e3:6.3f} ms")


def cells(b):
    torch, k = b.torch, min(10, b.rows)
    wide, narrow = b.rows * b.dims * 2, b.rows * NARROW * 4
    one = b.queries[0]
    b.moved("copy", lambda: b.wide_out.copy_(b.wide), 2 * wide)
    b.moved(f"gather, rows of {2 * b.dims} bytes", lambda: torch.index_select(b.wide, 0, b.ids, out=b.wide_out), 2 * wide)
    b.moved("gather, rows of 1200 bytes", lambda: torch.index_select(b.narrow, 0, b.ids, out=b.narrow_out), 2 * narrow)
    b.moved("products, 1 query, bf16", lambda: b.wide @ one, wide)
    b.moved("search, 1 query, bf16", lambda: torch.topk(b.wide @ one, k), wide)
    count = len(b.queries)
    products = b.rows * b.dims * count
    b.multiplied(f"products, {count} queries, bf16", lambda: b.queries @ b.wide.T, products)
    b.multiplied(f"search, {count} queries, bf16", lambda: torch.topk(b.queries @ b.wide.T, k, dim=1), products)
    b.moved("scatter-add, f32, d 300", lambda: b.narrow_out.index_add_(0, b.ids, b.narrow), 3 * narrow)


def bus(b):
    """Of a table on the host every eighth row, gathered there and sent; the bytes are the table's, as bench_main has it."""
    rows = min(b.rows, (1 << 30) // (2 * b.dims))
    host = b.wide[:rows].cpu()
    pinned = host.pin_memory() if b.device != "cpu" else host
    there, ids = b.wide_out[:rows], b.torch.arange(0, rows, 8)
    b.moved("pinned copy to the device", lambda: there.copy_(pinned, non_blocking=True), rows * b.dims * 2)
    b.moved("gather, table on the host", lambda: host.index_select(0, ids).to(b.device), rows * b.dims * 2)


def main():
    a = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    a.add_argument("rows", type=int, nargs="?", default=1 << 20)
    a.add_argument("dims", type=int, nargs="?", default=4096)
    a.add_argument("queries", type=int, nargs="?", default=1024)
    a.add_argument("--device", default="cuda")
    o = a.parse_args()
    try:
        import torch
    except ImportError as e:
        print(f"missing: torch: {e}")
        return 0
    if o.device != "cpu" and not torch.cuda.is_available():
        print(f"missing: torch with a GPU: torch {torch.__version__} sees none")
        return 0
    b = Bench(torch, o.device, o.rows, o.dims, o.queries)
    cells(b)
    bus(b)
    return 0


if __name__ == "__main__":
    sys.exit(main())
