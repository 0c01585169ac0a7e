"""The speed of others on the same tasks, in one run on one machine: `python
benchmarks/peers/compare.py`.

Every peer gets an environment of its own below --environments (default: a temporary folder), made
with pip on the first run. Peers take turns, one process at a time. Prints a table of multiples of
this library's time and writes it to docs/results/peers.md; a peer that cannot be installed or fails
has a line that says so.

`--busy` prints the table of our own decisions alone, which needs no environment but this one, and
writes nothing.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import venv

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "results" / "peers.md"
# Worker -> (name in the table, what pip installs; None: this interpreter, where tightrope is
# installed).
PEERS = {
    "tightrope_": ("tightrope", None),
    "c_": ("C, gcc -O3", ["numpy"]),
    "numpy_": ("NumPy by hand", ["numpy"]),
    "river_": ("River", ["river"]),
    "pymab_": ("PyMAB (Rust)", ["pymab"]),
    "mabwiser_": ("MABWiser", ["mabwiser"]),
    "bayesianbandits_": ("bayesianbandits", ["bayesianbandits"]),
    "vowpalwabbit_": ("Vowpal Wabbit", ["vowpalwabbit", "numpy"]),
    "pyxab_": ("PyXAB", ["PyXAB"]),
}
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)  # environment variables of BLAS libraries
SLOWER, SLACK = (
    3,
    200,
    # times the median with one BLAS thread and µs that nine of ten decisions may take beside busy
    # processes
)


def interpreter(worker, packages, base):
    """The Python of a peer's environment, which is made if it is not there."""
    if packages is None:
        return sys.executable
    python = base / worker / "bin" / "python"
    if not python.exists():
        venv.create(base / worker, with_pip=True)
        done = subprocess.run(
            [
                str(python),
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                *packages,
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError("not installed: " + last_line(done.stderr))
    return str(python)


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:160] if lines else "no message"


def measured(worker, packages, base, timeout):
    """Rows of one peer, and what went wrong, if anything did."""
    try:
        python = interpreter(worker, packages, base)
    except (RuntimeError, OSError) as error:
        return [], str(error)
    environment = {
        key: value
        for key, value in os.environ.items()
        if packages is None or not key.startswith("PYTHON")
    }
    try:
        done = subprocess.run(
            [python, str(HERE / "tasks.py"), worker],
            cwd=HERE,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return [], f"took longer than {timeout} s"
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return rows, "" if done.returncode == 0 else "failed: " + last_line(done.stderr)


def short(number):
    """Three digits, or all whole ones."""
    return f"{number:.3g}" if abs(number) < 100 else f"{number:,.0f}"


def machine():
    """The kind of machine, without its name."""
    model = platform.processor() or platform.machine()
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        model = next(
            line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        pass
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    )


def page(measured_rows, problems):
    """The table as Markdown."""
    lines = [
        "# Speed beside others",
        "",
        "Made by `python benchmarks/peers/compare.py`, all in one run, one process after the "
        "other, one thread each. Times are CPU",
        "times of the best of up to 20 runs; *times ours* is the peer's time for a round over "
        "tightrope's. Every peer plays as its",
        "documentation shows, we with our defaults. Regret is beside it so that one sees that all "
        "solved the same task; policies differ",
        "in their constants.",
        "",
        f"Machine: {machine()}.",
        "",
    ]
    for task in dict.fromkeys(row["task"] for rows in measured_rows.values() for row in rows):
        rounds = next(
            (row for row in measured_rows["tightrope_"] if row["task"] == task), None
        )  # the first is what is compared with
        lines += [
            f"## {task}",
            "",
            "| | what | µs a round | times ours | regret |",
            "| --- | --- | ---: | ---: | ---: |",
        ]
        rows = [
            (PEERS[worker][0], row)
            for worker, listed in measured_rows.items()
            for row in listed
            if row["task"] == task
        ]
        for name, row in sorted(rows, key=lambda item: item[1]["us"]):
            ratio = short(row["us"] / rounds["us"]) if rounds else ""
            lines.append(
                f"| {name} {row['version']} | {row['what']} | {short(row['us'])} | {ratio} | "
                f"{short(row['regret'])} |"
            )
        lines.append("")
    if problems:
        lines += [
            "## Not measured",
            "",
            *(f"- {PEERS[worker][0]}: {words}" for worker, words in problems.items()),
            "",
        ]
    return "\n".join(lines)


def timed_decisions(busy, one_thread=False):
    """(case, median, what nine of ten do not exceed) in µs of our decisions, by a process of its
    own, as BLAS reads its threads at the start."""
    command = [
        sys.executable,
        str(HERE.parent / "latency.py"),
        "--json",
        *(["--busy"] if busy else []),
    ]
    environment = os.environ | (dict.fromkeys(THREADS, "1") if one_thread else {})
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [(row["case"], row["median"], row["ninetieth"]) for row in json.loads(done.stdout)]


def decisions():
    """One decision of ours with its reward, as a service asks for it, of every family: alone, and
    beside busy processes."""
    alone, busy, single = (
        timed_decisions(*how) for how in ((False, False), (True, False), (True, True))
    )
    late = [
        case
        for (case, _, ninetieth), (_, median, _) in zip(busy, single, strict=True)
        if ninetieth > SLOWER * median + SLACK
    ]
    times = [
        [f"{short(median)} ({short(ninetieth)})" for _, median, ninetieth in three]
        for three in zip(alone, busy, single, strict=True)
    ]
    return [
        "## One decision with its reward",
        "",
        "`Session.decide` and `reward`, with the propensity of what is played and its standard "
        "error: median wall-clock time in µs, and in",
        "brackets what nine of ten decisions do not exceed; also beside a process that keeps each "
        "core busy, as installed and with one",
        "BLAS thread (`python benchmarks/latency.py --busy`). There whatever takes a tenth of the "
        "scheduler's time slice waits for a",
        "neighbour's slice once in ten times.",
        "",
        "| | alone | beside busy processes | and with one BLAS thread |",
        "| --- | ---: | ---: | ---: |",
        *(
            f"| {case} | {' | '.join(three)} |"
            for (case, _, _), three in zip(alone, times, strict=True)
        ),
        "",
        f"As installed, nine of ten decisions beside busy processes take at most {SLOWER} times "
        "the median with one BLAS thread and",
        f"{SLACK} µs" + (f", but for {'; '.join(late)}." if late else ", of every policy."),
        "",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--environments", type=pathlib.Path, help="Where environments are made and kept."
    )
    parser.add_argument("--only", nargs="*", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--timeout", type=int, default=600, help="Seconds for each peer.")
    parser.add_argument("--out", type=pathlib.Path, default=PAGE)
    parser.add_argument(
        "--busy",
        action="store_true",
        help="Only our decisions, alone and beside busy processes; writes no page.",
    )
    options = parser.parse_args()
    if options.busy:
        print(f"Machine: {machine()}.", *decisions(), sep="\n")
        return
    with tempfile.TemporaryDirectory() as temporary:
        base = (options.environments or pathlib.Path(temporary)).resolve()
        measured_rows, problems = {}, {}
        for worker in dict.fromkeys(["tightrope_", *options.only]):
            print(f"{PEERS[worker][0]} ..", file=sys.stderr, flush=True)
            measured_rows[worker], words = measured(worker, PEERS[worker][1], base, options.timeout)
            if words:
                problems[worker] = words
    text = page(measured_rows, problems) + "\n".join(decisions())
    print(text)
    options.out.write_text(text)


if __name__ == "__main__":
    main()
