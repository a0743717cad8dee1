#!/usr/bin/env python3
"""Analyses a trace of `dmdprof record` on all machines of a Ray cluster, or on this one.

    ray_slices.py TRACE PARTS SLICES [-o PROFILE]

Every machine needs dmdprof, the trace and the recorded program at the same paths. The trace's index is made first if there is
none; a machine that does not have it goes over all parts before its own. SLICES is a directory for the parts; those
that are there stay, so that a driver that was killed goes on. Ray starts a part again whose worker or machine has failed, and
spills what does not fit into memory. A damaged part is named by `dmdprof merge`: remove it, and start this again.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import ray


@ray.remote(num_cpus=1, max_retries=5, retry_exceptions=True)
def analysed(trace, part, parts):
    """The bytes of a slice."""
    with tempfile.TemporaryDirectory() as here:
        path = pathlib.Path(here, "slice")
        subprocess.run(["dmdprof", "slice", trace, "--part", f"{part}/{parts}", "-o", path], check=True)
        return part, path.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("parts", type=int)
    parser.add_argument("slices", type=pathlib.Path)
    parser.add_argument("-o", "--output", default="dmdprof.data")
    args = parser.parse_args()

    ray.init()
    args.slices.mkdir(parents=True, exist_ok=True)
    paths = {part: args.slices / f"{part}.slice" for part in range(1, args.parts + 1)}
    trace = str(args.trace.resolve())
    if not pathlib.Path(f"{trace}.index").exists():
        # It says itself what is wrong; parts only take longer without it.
        subprocess.run(["dmdprof", "slice", trace, "--index"])
    waiting = [analysed.remote(trace, part, args.parts) for part, path in paths.items() if not path.exists()]
    while waiting:
        done, waiting = ray.wait(waiting)
        part, content = ray.get(done[0])
        # Whole or not at all.
        new = paths[part].with_suffix(".new")
        new.write_bytes(content)
        new.rename(paths[part])
    merged = subprocess.run(["dmdprof", "merge", "--quiet", *paths.values(), "-o", args.output])
    sys.exit(merged.returncode)


if __name__ == "__main__":
    main()
