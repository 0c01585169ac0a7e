"""Damages files of compiled kernels and looks what calls of them give: `python
benchmarks/kernel_files.py --damages 3000`.

Each damage is one of: a flipped bit, a truncation, the file of another signature, of another
function or of older sources in its place, a planted pickle. Every one must be noticed before
anything of the file is used: the kernel is compiled anew and gives the same numbers, and its file
is whole again. Damages are tried in processes of a hundred, so that a crash is seen and counted.
Ends with 1 where one was not noticed.
"""

import argparse
import collections
import multiprocessing
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

MODULE = """
import math
from tightrope.extend import jit

FACTOR = 3.0

def first(x):
    total = 0.0
    for i in range(40):
        total += math.sqrt(x + i) * FACTOR
    return total

def second(x):
    total = 1.0
    for i in range(40):
        total += math.exp(-x) / (i + 1.0)
    return total
"""
KINDS = ("flip", "truncate", "signature", "function", "sources", "pickle")
IN_A_PROCESS = 100


class Planted:
    """A pickle that leaves a file behind where it is loaded."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def kernels():
    """Both functions, with what this process has not loaded or compiled yet."""
    import damaged_kernels

    from tightrope.extend import jit

    return jit(damaged_kernels.first), jit(damaged_kernels.second)


def results() -> tuple[float, ...]:
    """The values of the functions for a float and an int."""
    return tuple(function(x) for function in kernels() for x in (2.5, 2))


def damage(
    path: pathlib.Path,
    kind: str,
    whole: dict[pathlib.Path, bytes],
    older: dict[str, bytes],
    draw: random.Random,
    planted: str,
) -> None:
    """Write something else into a file. whole: content by path; older: of older sources, by
    name."""
    import pickle

    content = whole[path]
    if kind == "flip":
        place = draw.randrange(len(content))
        content = (
            content[:place]
            + bytes([content[place] ^ (1 << draw.randrange(8))])
            + content[place + 1 :]
        )
    elif kind == "truncate":
        content = content[: draw.randrange(len(content))]
    elif kind == "sources":
        content = older[path.name]
    elif kind == "pickle":
        content = content[: draw.choice((0, 19, 51))] + pickle.dumps(Planted(planted))
    else:
        function = path.name.split("-")[0]
        alike = [
            other
            for other in whole
            if other != path and (other.name.startswith(function)) == (kind == "signature")
        ]
        content = whole[draw.choice(sorted(alike))]
    path.write_bytes(content)


def try_damages(
    seed: int, count: int, folder: str, wanted: tuple[float, ...], whole, older, queue
) -> None:
    """In a process: damage a file, call everything, look at the file."""
    draw, planted = random.Random(seed), os.path.join(folder, f"planted{seed}")
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        path = draw.choice(sorted(whole))
        damage(path, kind, whole, older, draw, planted)
        try:
            equal = results() == wanted and not os.path.exists(planted)
            outcome = "equal" if equal else "different"
        except Exception as error:
            outcome = f"error: {type(error).__name__}"
        if path.read_bytes()[:19] != whole[path][:19]:
            outcome = "not written anew"
        path.write_bytes(whole[path])
        queue.put((kind, outcome))


def main() -> int:
    """Print a table of damages and outcomes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--damages", type=int, default=3000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TIGHTROPE_CACHE"] = os.path.join(folder, "cache")
        os.environ["PYTHONPATH"] = os.pathsep.join([folder, *filter(None, sys.path)])
        sys.path.insert(0, folder)
        older = {}
        for factor in ("2.0", "3.0"):  # the first run leaves files of older sources
            pathlib.Path(folder, "damaged_kernels.py").write_text(MODULE.replace("3.0", factor))
            code = (
                "import sys; sys.path.insert(0, sys.argv[1]); import kernel_files; "
                "kernel_files.results()"
            )
            here = str(pathlib.Path(__file__).parent)
            subprocess.run([sys.executable, "-B", "-c", code, here], check=True)
            paths = {
                path: path.read_bytes() for path in pathlib.Path(folder, "cache").rglob("*.nbc")
            }
            if factor == "2.0":
                older = {path.name: content for path, content in paths.items()}
                shutil.rmtree(pathlib.Path(folder, "cache"))
        context = multiprocessing.get_context("spawn")
        wanted, counts, crashes, tried = results(), collections.Counter(), 0, 0
        while tried < options.damages:
            count, queue = min(IN_A_PROCESS, options.damages - tried), context.SimpleQueue()
            process = context.Process(
                target=try_damages, args=(tried, count, folder, wanted, paths, older, queue)
            )
            process.start()
            reported = []
            while process.is_alive() or not queue.empty():
                if queue.empty():
                    process.join(0.05)
                else:
                    reported.append(queue.get())
            counts.update(reported)
            crashes += process.exitcode != 0
            tried += count
            if process.exitcode:
                print(
                    f"a process ended with {process.exitcode} after {len(reported)} of its "
                    f"{count} damages"
                )
    kinds = sorted({kind for kind, _ in counts})
    for kind in kinds:
        print(
            f"{kind:>10}: "
            + ", ".join(
                f"{number} {outcome}"
                for (one, outcome), number in sorted(counts.items())
                if one == kind
            )
        )
    total = collections.Counter()
    for (_, outcome), number in counts.items():
        total[outcome if outcome in ("equal", "different") else "errors"] += number
    print(
        f"{tried} damaged files: {total['equal']} equal, {total['different']} different, "
        f"{total['errors']} errors, {crashes} crashes"
    )
    return int(total["equal"] != tried)


if __name__ == "__main__":
    sys.exit(main())
