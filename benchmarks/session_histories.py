"""Random histories of sessions: `python benchmarks/session_histories.py --histories 10000`.

Between the calls of a history the session becomes a copy, a pickle or a file, or a signal ends a
call of it. It must end with the bits of a session that goes on in memory, played by the agent that
calls the verbs from Python. All kinds of sessions take turns, and every other turn the disturbed
session is played so too. Ends with 1 where one differs. See tests/session/signalled.py.
"""

import argparse
import collections
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))

from session import histories, signalled

TOLD = 500  # histories between two lines of the table


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="Stop after so many.")
    options = parser.parse_args()
    signalled.settle_process()
    names, wrong, came, began, played = (
        sorted(histories.kinds()),
        collections.Counter(),
        0,
        time.monotonic(),
        0,
    )
    with tempfile.TemporaryDirectory(prefix="tightrope-histories-") as folder:
        while played < options.histories and time.monotonic() - began < options.seconds:
            turn, place = divmod(played, len(names))
            differences, signals = signalled.disturbed(
                names[place], options.seed + turn, pathlib.Path(folder), plain=turn % 2 == 1
            )
            if differences:
                wrong[names[place]] += 1
                print(f"{names[place]}, seed {options.seed + turn}: {differences}", flush=True)
            played, came = played + 1, came + signals
            if played % TOLD == 0:
                print(
                    f"{played:,} histories, {came:,} signals, {wrong.total()} differ "
                    f"({time.monotonic() - began:.0f} s)",
                    flush=True,
                )
    print(
        f"{played:,} histories of {len(names)} kinds of sessions, {came:,} signals: "
        f"{wrong.total()} differ"
    )
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
