#!/usr/bin/env python3
"""Measures what the slices of a trace take, and computes from it what more workers would.

    measure.py TRACE PARTS

All figures are CPU seconds of whole processes, one after the other. The critical path of W workers is as if every worker had a
processor and the trace: each takes the next part when it has done one, the last of them ends, then comes the merge. Where there
are more workers than parts, each part is taken to be cut evenly. The index is made before, once for all analyses.
"""

import heapq
import os
import pathlib
import resource
import subprocess
import sys
import tempfile


def cpu_seconds(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def longest(seconds, workers):
    """When the last of the workers ends."""
    if workers > len(seconds):
        return max(seconds) * len(seconds) / workers
    busy = [0] * workers
    for part in seconds:
        heapq.heapreplace(busy, busy[0] + part)
    return max(busy)


def main():
    trace, parts = sys.argv[1], int(sys.argv[2])
    index = cpu_seconds("dmdprof", "slice", trace, "--index")
    with tempfile.TemporaryDirectory() as here:
        paths = [pathlib.Path(here, f"{part}.slice") for part in range(1, parts + 1)]
        seconds = [
            cpu_seconds("dmdprof", "slice", trace, "--part", f"{part}/{parts}", "-o", path)
            for part, path in enumerate(paths, 1)
        ]
        merge = cpu_seconds("dmdprof", "merge", "--quiet", *paths, "-o", f"{here}/merged.data")
        whole = cpu_seconds("dmdprof", "replay", "--quiet", "--workers", "1", trace, "-o", f"{here}/whole.data")
        size = sum(path.stat().st_size for path in paths)
    print(f"replay in one piece       {whole:8.2f} s")
    print(f"index                     {index:8.2f} s")
    print(f"all parts                 {sum(seconds):8.2f} s")
    print(f"longest part              {max(seconds):8.2f} s")
    print(f"merge                     {merge:8.2f} s")
    sizes = [os.path.getsize(trace), os.path.getsize(f"{trace}.index"), size]
    print("trace, index, slices     ", ", ".join(f"{size / 1e6:.1f}" for size in sizes), "MB")
    for workers in (8, 64, 1024):
        path = longest(seconds, workers) + merge
        print(f"critical path of {workers:4} workers {path:7.2f} s, {path / whole:.2f} of one piece")


if __name__ == "__main__":
    main()
