"""Compares kernels with those of a commit, in the same minutes: `make bench-check AGAINST=main~20`.

The commit's sources are laid out beside these, and each tree has a process of its own. The kernels
of `CHECKED` in `benchmarks/speed.py` are played in short runs, in turn here and there, and the best
run of each counts: what disturbs the machine disturbs both, and no speed of another processor is
compared with.
Fails where a kernel of this tree is below 0.8 of the commit's, after four more tries.
"""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]
RUNS = 10  # of each kernel in each tree, in turn
LEAST, MORE = 0.8, 4
PLAYER = """
import sys
try:
    from speed import _speed, checked_cases
except ImportError:  # of a commit before the list moved
    from tightrope.simulation.benchmark import _speed, checked_cases
cases = {key: (policy, problem, rounds) for key, policy, problem, rounds in checked_cases()}
print(*cases, sep="\\t", flush=True)
for line in sys.stdin:
    print(_speed(*cases[line.strip()]), flush=True)
"""


class Tree:
    """A process that plays the kernels of one tree of sources. keys: of its kernels."""

    def __init__(self, name: str, sources: pathlib.Path) -> None:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, (sources / "src", sources / "benchmarks")))
        }
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-c", PLAYER],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.keys = self._line().split("\t")

    def speed(self, key: str) -> float:
        """Rounds per second of processor time in one short run."""
        assert self.process.stdin is not None
        print(key, file=self.process.stdin)
        return float(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().rstrip("\n")
        if not line:
            sys.exit(f"The process that plays {self.name} ended.")
        return line


@contextlib.contextmanager
def trees(commit: str) -> Iterator[tuple[Tree, Tree]]:
    """The present tree and the commit's."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", commit, "src", "benchmarks"],
            capture_output=True,
            check=False,
        )
        if archive.returncode:
            sys.exit(f"AGAINST={commit} is no commit: {archive.stderr.decode().strip()}")
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        both = Tree("this tree", ROOT), Tree(commit, pathlib.Path(folder))
        try:
            yield both
        finally:
            for tree in both:
                tree.process.kill()
                tree.process.wait()


def main() -> int:
    """Print a line for each kernel; 1 where one has become slow."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("commit")
    parser.add_argument("--only", default="", help="kernels whose name contains this")
    options = parser.parse_args()
    with trees(options.commit) as (here, there):
        keys = [
            key for key in here.keys if key in there.keys and options.only.lower() in key.lower()
        ]
        best = {key: [0.0, 0.0] for key in keys}

        def play(key: str) -> None:
            for number in range(RUNS):
                for place, tree in (
                    ((0, here), (1, there)) if number % 2 else ((1, there), (0, here))
                ):
                    best[key][place] = max(best[key][place], tree.speed(key))
            print(
                f"{best[key][0]:12,.0f} {best[key][1]:12,.0f} {ratio(key):6.2f}  {key}", flush=True
            )

        def ratio(key: str) -> float:
            return best[key][0] / best[key][1]

        print(f"{'rounds/s':>12} {options.commit[:12]:>12} {'ratio':>6}")
        for key in keys:
            play(key)
        for _ in range(MORE):
            slow = [key for key in keys if ratio(key) < LEAST]
            if slow:
                print("Once more, now that what disturbed them may have ended:")
            for key in slow:
                play(key)
        slow = [f"{key} ({ratio(key):.2f})" for key in keys if ratio(key) < LEAST]
    if slow:
        print(f"Below {LEAST:g} of {options.commit}: {'; '.join(slow)}.", file=sys.stderr)
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
