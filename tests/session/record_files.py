"""Write the session files that `test_files.py` loads: `python tests/session/record_files.py`.

Each is a session in the middle of a random history, with open decisions; beside them stands what
each must do next. Make them anew, under another name, when `FORMAT` of `tightrope.session.store`
changes; a session file of the same format must load for ever.
"""

import json
import pathlib
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from session import histories
from tightrope.session.store import FORMAT

FOLDER = pathlib.Path(__file__).parent / "data"
KINDS = {
    "": "LinTS, new features",
    "-catalogue": "LinUCB, catalogue",
    "-counts": "UCB in order",
    "-sets": "C2UCB in order",
}
LEAST_OPEN, CALLS = 3, 6


def features_for(session):
    """What the calls that follow show; rounds of a catalogue have five candidates."""
    return np.linspace(0.1, 0.5, 15).reshape(5, 3) if session._rounds.changing else None


def answer_all(session):
    """Give every open decision its reward."""
    for id in list(session.open):
        missing = session._book.get(id).waiting
        session.reward(id, 0.5 if missing is None else dict.fromkeys(sorted(missing), 0.5))


def what_follows(session):
    """What a session does once its open decisions have their rewards."""
    told = [[d.id, d.round, d.reason] for d in session.open.values()]
    answer_all(session)
    features = features_for(session)
    actions = [np.atleast_1d(session.decide(features).arm).tolist() for _ in range(CALLS)]
    return {"open": told, "actions": actions, "mean": session.explain(features)["mean"].tolist()}


def main():
    """Write a file for each kind, from the first history that has enough open decisions."""
    expected = {}
    for suffix, kind in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(100):
                session, _ = histories.run(kind, seed, pathlib.Path(folder) / "s.npz")
                if len(session.open) >= LEAST_OPEN:
                    break
        path = session.save(FOLDER / f"session-format-{FORMAT}{suffix}.safetensors")
        expected[path.stem] = what_follows(type(session).load(path))
    (FOLDER / f"session-format-{FORMAT}.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
