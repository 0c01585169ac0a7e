"""Writes the golden log of a version: experiments that it played, and what it decided next.

    PYTHONPATH=path/of/that/version/src python tests/service/record_log.py NAME

makes `tests/service/logs/NAME.json.gz`; `test_former_logs.py` replays each of them with the code of now, to the bit. A file is made once, by
the code of its version, and stays: what it has is what running experiments of that version must go on with. Experiments say nothing that
has a default, because defaults are what a later version may change.
"""

import gzip
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import pinned  # noqa: F401  the same last digits on every processor

# isort: split
from running import Clock, create, decide, reward, service_at

from tightrope.service.log import store

FOLDER = pathlib.Path(__file__).parent / "logs"
ROUNDS, AFTER = 16, 5
CORNERS = ((1.0, 0.0, 0.25), (0.0, 1.0, 0.5), (0.75, 0.5, 0.0), (0.5, -0.5, 0.125))
ROWS = [{"id": name, "features": list(row)} for name, row in zip("abcd", CORNERS, strict=True)]
FOUR = [{"id": name} for name in "abcd"]
LINE = [{"id": name, "point": 0.25 * k} for k, name in enumerate("abcd")]
PAIRS = {"arms": ROWS, "oracle": {"oracle": "TopK", "k": 2}}
CHANGING = {"arms": FOUR, "dimension": 3}
KEPT = {"baseline": "a", "baseline_mean": 0.5, "alpha": 0.1}
SPECS = {
    "ucb": {"policy": "UCB", "arms": FOUR},
    "cklucb": {"policy": {"policy": "CKLUCB", "lipschitz": 2.0}, "arms": LINE},
    "linucb": {"policy": "LinUCB", "arms": ROWS},
    "linucb-rounds": {"policy": "LinUCB", **CHANGING},
    "linucb-apart": {"policy": {"policy": "LinUCB", "shared": False}, **CHANGING},
    "lints": {"policy": "LinTS", "arms": ROWS},
    "lints-rounds": {"policy": "LinTS", **CHANGING},
    "lints-floor": {"policy": "LinTS", "arms": ROWS, "floor": 0.05},
    "softucb": {"policy": "SoftUCB", "arms": ROWS},
    "softucb-online": {"policy": {"policy": "SoftUCB", "online": True}, "arms": ROWS, "horizon": 100},
    "squarecb": {"policy": "SquareCB", **CHANGING},
    "linepsilongreedy": {"policy": {"policy": "LinEpsilonGreedy", "epsilon": 0.25}, **CHANGING},
    "linmed": {"policy": "LinMED", "arms": ROWS},
    "candidates": {"policy": "LinTS", "dimension": 3},
    "c2ucb": {"policy": "C2UCB", **PAIRS},
    "pc2ucb": {"policy": "PC2UCB", **PAIRS},
    "comblints": {"policy": "CombLinTS", **PAIRS},
    "comblinucb": {"policy": "CombLinUCB", **PAIRS},
    "combts": {"policy": "CombTS", **PAIRS},
    "safe": {"policy": "UCB", "arms": FOUR, **KEPT},
    "safe-linucb": {"policy": "LinUCB", "arms": [row | {"features": [0.5 * x for x in row["features"]]} for row in ROWS], **KEPT},
    "safe-lints-rounds": {"policy": "LinTS", **CHANGING, **KEPT},
    "cucb2": {"policy": "CUCB2", "arms": FOUR, **KEPT},
    "rollout": {"policy": "BetaThompson", "arms": FOUR, **KEPT, "rollout": {"mode": "capped", "share": 0.5}},
}  # fmt: skip


def asked(name: str, n: int) -> dict:
    """What the n-th decision of an experiment says of its round."""
    if "dimension" not in SPECS[name]:
        return {}
    rows = [[0.125 * ((n * (k + 2) + j) % 5) for j in range(3)] for k in range(4)]
    return {"context": dict(zip("abcd", rows, strict=True)) if name == "candidates" else rows}


def value(arm: str, n: int) -> float:
    """The reward of an arm in the n-th decision."""
    return float((7 * n + 3 * ord(arm)) % 4 > 1)


def next_decision(service, clock, name: str, n: int) -> list:
    """Arm and propensity of the n-th decision, which is then rewarded; every fifth stays open."""
    clock.now += 1_000_000
    made = decide(service, f"d{n}", name, **asked(name, n))
    clock.now += 250_000
    if n % 5:
        arm = made["arm"]
        reward(service, made["id"], value(arm, n) if isinstance(arm, str) else {one: value(one, n) for one in arm}, name)
    return [made["arm"], made["propensity"]]


def recorded(name: str, folder: pathlib.Path) -> dict:
    """The events of an experiment as they are exported, and the decisions that came after them."""
    clock = Clock()
    with service_at(folder / f"{name}.db", clock) as service:
        create(service, {"name": name, "seed": 11} | SPECS[name])
        for n in range(ROUNDS):
            next_decision(service, clock, name, n)
        with service.database.read() as connection:
            entries = list(store.read(connection, 1))
        now = clock.now
        after = [next_decision(service, clock, name, n) for n in range(ROUNDS, ROUNDS + AFTER)]
    lines = [
        {"experiment": name, "seq": e.seq, "kind": e.kind, "time": e.time, "key": e.decision, "subject": e.subject,
         "body": e.text.decode(), "body_digest": e.body_digest.hex(), "digest": e.digest.hex()}
        for e in entries
    ]  # fmt: skip
    return {"log": [*lines, {"experiment": name, "end": len(lines), "digest": lines[-1]["digest"]}], "now": now, "after": after}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        logs = {name: recorded(name, pathlib.Path(place)) for name in SPECS}
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{sys.argv[1]}.json.gz").write_bytes(gzip.compress(json.dumps(logs).encode(), mtime=0))
