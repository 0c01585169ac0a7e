"""Kills `tightrope reproduce all --scale smoke` at random moments and compares what comes out with
an undisturbed run.

`python benchmarks/kills.py [--kills 20] [--seed 0] [--most SECONDS] [--papers lingape,..] [--folder
DIR]`

Each kill is a SIGKILL of the driver and all its workers, at a moment drawn uniformly from the first
SECONDS after the start (default: as long as the undisturbed run took). The same command then goes
on in the same folder. At the end it runs to its end, and the bytes of every table, row and claim
are compared, but for columns of processor times. Exit code 1 where one differs.
"""

import argparse
import hashlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas as pd

from tightrope_papers import names

MEASURED = "us a round"  # how columns of processor times begin: no two runs agree in them


def commands(papers: list[str], out: pathlib.Path) -> list[list[str]]:
    """The commands that reproduce all papers at once, or some of them one by one."""
    start = [sys.executable, "-m", "tightrope", "reproduce"]
    if papers == names():
        return [[*start, "all", "--scale", "smoke", "--quiet", "--out", str(out)]]
    return [
        [*start, paper, "--scale", "smoke", "--quiet", "--out", str(out / paper)]
        for paper in papers
    ]


def alive_for(papers: list[str], out: pathlib.Path, seconds: float | None) -> float | None:
    """Run the commands; kill them after so many seconds. Returns how long they took if they came to
    their end."""
    started = time.monotonic()
    for command in commands(papers, out):
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )
        try:
            left = None if seconds is None else max(0.0, seconds - (time.monotonic() - started))
            _, said = process.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None
        if process.returncode:
            raise SystemExit(said.decode())
    return time.monotonic() - started


def tables(out: pathlib.Path) -> dict[str, str]:
    """A digest of the bytes of every table, row and claim; without processor times and the command
    line, which names the folder."""
    digests = {}
    for path in sorted(out.rglob("*")):
        where = path.relative_to(out)
        if (
            path.suffix not in (".csv", ".parquet", ".json")
            or "runs" in where.parts
            or path.name in ("time.json", "all.json")
        ):
            continue
        content = path.read_bytes()
        if path.name == "rows.json":
            content = b"".join(
                line
                for line in content.splitlines(keepends=True)
                if not line.startswith(b' "command"')
            )
        elif path.suffix in (".csv", ".parquet"):
            table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
            measured = [column for column in table if column.startswith(MEASURED)]
            content = table.drop(columns=measured).to_csv().encode() if measured else content
        digests[str(where)] = hashlib.sha256(content).hexdigest()
    return digests


def chunks(out: pathlib.Path) -> int:
    """Finished chunks."""
    return sum(1 for _ in out.glob("**/chunks/*.parquet"))


def main() -> None:
    """Kill, go on, compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=float)
    parser.add_argument("--papers", default=",".join(names()))
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args()
    folder = options.folder or pathlib.Path(tempfile.mkdtemp(prefix="tightrope-kills-"))
    papers = options.papers.split(",")
    took = alive_for(papers, folder / "undisturbed", None)
    print(f"undisturbed: {took:.0f} s, {chunks(folder / 'undisturbed')} chunks", flush=True)
    rng = np.random.default_rng(options.seed)
    print("kill  after s  chunks kept", flush=True)
    done, killed = False, 0
    while killed < options.kills:
        seconds = float(rng.uniform(0.0, options.most or took))
        done = alive_for(papers, folder / "killed", seconds) is not None
        killed += not done
        print(
            f"{'' if done else killed:>4}  {seconds:7.1f}  "
            f"{chunks(folder / 'killed'):11}{'  (came to its end)' if done else ''}",
            flush=True,
        )
    alive_for(papers, folder / "killed", None)
    whole, after_kills = tables(folder / "undisturbed"), tables(folder / "killed")
    other = sorted(
        name
        for name in whole.keys() | after_kills.keys()
        if whole.get(name) != after_kills.get(name)
    )
    print(
        f"{len(whole)} files of tables, rows and claims, {len(other)} of them "
        f"differ{': ' + ', '.join(other) if other else ''}"
    )
    sys.exit(bool(other or not whole))


if __name__ == "__main__":
    main()
