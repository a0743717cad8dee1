#!/usr/bin/env python3
"""Measures what the slices of a trace take, and computes from it what more workers would.

    measure.py TRACE PARTS

All figures are CPU seconds of whole processes, one after the other. A slice takes what its own accesses take, and what going over
the trace before it takes; the first and the last slice tell these two apart. The critical path of W workers is the last of W
slices and the merge, as if every worker had a processor and the trace.
"""

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


def main():
    trace, parts = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as here:
        paths = [pathlib.Path(here, f"{part}.slice") for part in range(1, parts + 1)]
        seconds = [
            cpu_seconds("dmdprof", "slice", trace, "--part", f"{part}/{parts}", "-o", path)
            for part, path in enumerate(paths, 1)
        ]
        merge = cpu_seconds("dmdprof", "merge", "--quiet", *paths, "-o", f"{here}/merged.data")
        whole = cpu_seconds("dmdprof", "replay", "--quiet", "--workers", "1", trace, "-o", f"{here}/whole.data")
        size = sum(path.stat().st_size for path in paths)
    # By least squares: seconds of a slice are `own`, and `over` for each part before it.
    mean, middle = sum(seconds) / parts, (parts - 1) / 2
    spread = sum((part - middle) ** 2 for part in range(parts)) or 1
    over = max(sum((part - middle) * second for part, second in enumerate(seconds)) / spread, 0)
    own = max(mean - over * middle, 0) * parts
    over *= parts
    print(f"replay in one piece       {whole:8.2f} s")
    print(f"own accesses of all parts {own:8.2f} s")
    print(f"going over the trace      {over:8.2f} s")
    print(f"merge                     {merge:8.2f} s")
    print(f"trace, slices             {os.path.getsize(trace) / 1e6:.1f} MB, {size / 1e6:.1f} MB")
    for workers in (8, 64, 1024):
        path = own / workers + over * (workers - 1) / workers + merge
        print(f"critical path of {workers:4} workers {path:7.2f} s, {path / whole:.2f} of one piece")


if __name__ == "__main__":
    main()
