"""Golden logs: every kind of experiment, driven through the service on a fixed clock, leaves the
same events and the same state to the bit.

`golden_log.json` has, for each experiment, one digest over the bodies of its events, the digest of
the log's head, and the fingerprint of the state; a replay from the first event must find the same
fingerprint. `python tests/service/test_golden_log.py` writes the file again, which is right only
where a change of the events or of the state is what was wanted.
"""

import collections
import contextlib
import hashlib
import json
import pathlib
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import pinned  # noqa: F401  the same last digits on every processor

# isort: split
from running import HOUR, Clock, ask, create, decide, refused, reward, service_at, state, until

from tightrope_service import commands, log
from tightrope_service.log import rows_and_names
from tightrope_service.recovery import replay
from tightrope_service.requests import ArmChange, ArmsRequest, ModeChange

FILE = pathlib.Path(__file__).parent / "golden_log.json"
THREE = [{"id": "low"}, {"id": "mid"}, {"id": "high"}]
ROWS = [
    {"id": name, "features": row}
    for name, row in (("a", [1.0, 0.0]), ("b", [0.0, 1.0]), ("c", [0.75, 0.5]), ("d", [0.5, -0.5]))
]
GUARD = {"baseline": "mid", "baseline_mean": 0.5, "alpha": 0.1, "guarantee": {"sigma": 0.5}}
WINDOW = {"window": "1h", "default_reward": 0.0}


class Driver:
    """One experiment of a service. Rewards are a fixed function of decision and arm."""

    def __init__(self, service, clock, name):
        self.service, self.clock, self.name, self.count = service, clock, name, 0

    def create(self, **spec):
        create(self.service, {"name": self.name, "seed": 7, **spec})

    def do(self, operation, *arguments):
        return ask(self.service, operation, *arguments, name=self.name)

    def decide(self, **asked):
        self.count += 1
        self.clock.now += 1_000_000
        return decide(self.service, f"d{self.count}", self.name, **asked)

    def reward(self, made, value=None):
        self.clock.now += 250_000
        if value is None:
            value = (
                self.value(made["arm"])
                if isinstance(made["arm"], str)
                else {arm: self.value(arm) for arm in made["arm"]}
            )
        reward(self.service, made["id"], value, self.name)

    def value(self, arm):
        """Half of all rewards are 1, by the digest of decision and arm."""
        return float(hashlib.sha256(f"{self.count} {arm}".encode()).digest()[0] % 2)

    def rounds(self, count, **asked):
        for _ in range(count):
            self.reward(self.decide(**asked))

    def wait(self, microseconds):
        """Let time pass, and the writer close what is due."""
        self.clock.now += microseconds
        until(lambda: self.do(lambda at: at.experiment.closing(self.clock.now)) is None)


def plain(run):
    run.create(policy={"policy": "EpsilonGreedy", "epsilon": 0.5}, arms=THREE, **WINDOW)
    run.rounds(30)
    run.do(commands.change_status, "pause")
    run.do(commands.change_status, "resume")
    run.rounds(5)
    run.do(commands.change_status, "archive")


def drawn(run):
    run.create(policy="BetaThompson", arms=THREE, floor=0.0625, **WINDOW)
    run.rounds(30)


def fixed_features(run):
    run.create(policy="LinUCB", arms=ROWS, horizon=1000, **WINDOW)
    run.rounds(25)


def round_features(run):
    run.create(policy="LinTS", arms=[{"id": "a"}, {"id": "b"}], dimension=2, **WINDOW)
    for n in range(12):
        run.reward(run.decide(context=[[0.125 * n, 0.5], [0.25, 1.0]]))
    run.reward(run.decide(context={"b": [0.5, 0.5]}))


def candidates(run):
    run.create(policy={"policy": "LinUCB"}, dimension=2, window=None)
    for n in range(12):
        run.reward(
            run.decide(
                context={"x": [1.0, 0.125 * n], "y": [0.25, 0.5], "z": [0.0, 1.0]}, excluded=["z"]
            )
        )


def sets(run):
    run.create(policy="C2UCB", arms=ROWS, oracle={"oracle": "TopK", "k": 2}, **WINDOW)
    run.rounds(10)
    parts = run.decide()
    for arm in parts["arm"]:
        run.reward(parts, {arm: 0.5})
    left = run.decide()
    run.reward(left, {left["arm"][0]: 1.0})
    run.wait(HOUR)


def guarded_sets(run):
    guard = {
        "baseline": ["a", "b"],
        "baseline_mean": 1.0,
        "alpha": 0.2,
        "guarantee": {"sigma": 0.5},
    }
    run.create(policy="C2UCB", arms=ROWS, oracle={"oracle": "TopK", "k": 2}, **guard, **WINDOW)
    run.rounds(25)


def guarded(run):
    run.create(policy="UCB", arms=THREE, **GUARD, **WINDOW)
    opened = [run.decide() for _ in range(30)]
    for made in reversed(opened):
        run.reward(made)
    run.rounds(30)


def guarded_learned(run):
    run.create(policy="KLUCB", arms=THREE, **GUARD | {"baseline_mean": None}, **WINDOW)
    run.rounds(45)


def guarded_linear(run):
    run.create(policy="LinUCB", arms=ROWS, **GUARD | {"baseline": "a"}, **WINDOW)
    run.rounds(25)


def round_baselines(run):
    run.create(policy={"policy": "CUCB2", "alpha": 0.1}, arms=THREE, **WINDOW)
    for n in range(25):
        run.reward(
            run.decide(baseline=("low", "mid", "high")[n % 3], baseline_mean=0.25 + 0.125 * (n % 3))
        )


def rollout(run):
    """Every mode by a rule, then back and on by command."""
    rules = {"apprentice": {"after": 10}, "shadow": {"after": 10}, "capped": {"after": 30}}
    run.create(
        policy={"policy": "EpsilonGreedy", "epsilon": 1.0},
        arms=THREE,
        **GUARD,
        **WINDOW,
        rollout={"mode": "apprentice", "share": 0.5, "promote": rules, "least_budget": -1000.0},
    )
    run.rounds(45)
    waiting = [run.decide() for _ in range(10)]
    for made in waiting[::-2]:
        run.reward(made)
    run.rounds(45)
    run.do(commands.change_mode, ModeChange(mode="shadow", why="a look"))
    run.rounds(5)
    run.do(commands.change_mode, ModeChange(mode="capped", share=0.25))
    run.rounds(25)


def production(run):
    shares = {"low": 0.25, "mid": 0.5, "high": 0.25}
    run.create(
        policy="BetaThompson",
        arms=THREE,
        **WINDOW,
        rollout={"mode": "shadow", "production": shares, "rewards": [0.0, 2.0]},
    )
    run.rounds(30, excluded=["low"])
    run.rounds(30)


def sent_back(run):
    """The budget's bound falls below its least: the rule returns to shadow."""
    run.create(policy="UCB", arms=THREE, **GUARD | {"alpha": 0.05}, window=None)
    for _ in range(3):
        run.decide(excluded=["mid"])
    run.rounds(21)


def late(run):
    run.create(policy={"policy": "EpsilonGreedy", "epsilon": 0.5}, arms=THREE, **WINDOW)
    opened = [run.decide() for _ in range(6)]
    for made in opened[:3]:
        run.reward(made)
    run.wait(HOUR)
    for made in opened[3:]:
        refused(410, run.reward, made, 1.0, match="logged, not learned")
    run.rounds(5)


def without_default(run):
    run.create(policy="UCB", arms=THREE, window=60.0)
    run.rounds(4)
    run.decide()
    run.wait(HOUR)
    run.rounds(4)


def in_order(run):
    run.create(policy="LinUCB", arms=ROWS, apply="in order", **GUARD | {"baseline": "a"}, **WINDOW)
    opened = [run.decide() for _ in range(8)]
    for made in opened[1:6][::-1]:
        run.reward(made)
    run.reward(opened[0])
    run.wait(HOUR)
    run.rounds(5)


def deferred(run):
    run.create(policy={"policy": "EpsilonGreedy", "epsilon": 0.5}, arms=THREE, **WINDOW)
    shown, unseen = run.decide(deferred=True), run.decide(deferred=True)
    cancelled = run.decide()
    run.do(commands.activate, shown["id"])
    run.do(commands.cancel, cancelled["id"])
    run.reward(shown)
    assert unseen["id"] == "d2"
    run.wait(HOUR)
    run.rounds(5)


def arms(run):
    run.create(policy="UCB", arms=THREE, baseline="low", **WINDOW)
    run.rounds(6)
    run.do(commands.add_arms, ArmsRequest(arms=[{"id": "huge"}, {"id": "tiny"}]))
    run.rounds(4)
    run.do(commands.change_arm, "mid", ArmChange(status="masked"))
    run.do(commands.change_arm, "huge", ArmChange(status="retired"))
    run.rounds(6)
    run.do(commands.change_arm, "mid", ArmChange(status="active"))
    run.rounds(4, eligible=["mid", "high"])
    run.rounds(4, excluded=["high"])


def erased(run):
    run.create(policy="LinTS", arms=[{"id": "a"}, {"id": "b"}], dimension=2, **WINDOW)
    for n in range(4):
        run.reward(run.decide(context=[[0.125 * n, 0.5], [0.25, 1.0]], subject=f"user {n % 2}"))
    run.decide(context=[[0.5, 0.5], [0.25, 1.0]], subject="user 0")
    run.do(commands.Erasure("user 0"))
    for n in range(4):
        run.reward(run.decide(context=[[0.125 * n, 0.5], [0.25, 1.0]], subject="user 2"))


def erased_marks(run):
    """A subject without features: the log still replays from its first event."""
    run.create(policy="BetaThompson", arms=THREE, **WINDOW)
    run.reward(run.decide(subject="user 0"))
    run.decide(subject="user 0", deferred=True)
    run.do(commands.Erasure("user 0"))
    run.rounds(3)


def sticky(run):
    run.create(
        policy="GaussianThompson",
        arms=THREE,
        **WINDOW,
        sticky={"lasts": "2h", "reward": "sum"},
        rewards=[0.0, 3.0],
    )
    for n in range(12):
        made = run.decide(subject=f"user {n % 5}")
        reward(run.service, made["id"], 0.5, run.name, reward_id=f"order {n}")
    run.wait(2 * HOUR)
    run.decide(subject="user 0")


DRIVES = (
    plain,
    drawn,
    fixed_features,
    round_features,
    candidates,
    sets,
    guarded_sets,
    guarded,
    guarded_learned,
    guarded_linear,
    round_baselines,
    rollout,
    production,
    sent_back,
    late,
    without_default,
    in_order,
    deferred,
    arms,
    erased,
    erased_marks,
    sticky,
)


def driven(drive, folder):
    """What an experiment left: kinds and bodies of its events, the head of its log, its state."""
    clock = Clock()
    with service_at(folder / f"{drive.__name__}.db", clock) as service:
        drive(Driver(service, clock, drive.__name__))
        told = state(service, drive.__name__)
        with service.database.read() as connection:
            events = list(log.read(connection, 1))
            ((row, name),) = rows_and_names(connection)
            again = replay(connection, row, name)
    assert (again.fingerprint, again.errors, again.disagreements) == (told["fingerprint"], (), 0)
    text = b"\n".join(
        f"{e.seq} {e.kind} {e.time} {e.decision} {e.subject} ".encode() + e.text for e in events
    )
    return {
        "events": dict(sorted(collections.Counter(e.kind for e in events).items())),
        "bodies": hashlib.sha256(text).hexdigest(),
        "head": told["digest"],
        "fingerprint": told["fingerprint"],
    }


@pytest.mark.parametrize("drive", DRIVES, ids=lambda drive: drive.__name__)
def test_the_log_and_the_state_are_the_golden_ones(drive, tmp_path):
    assert driven(drive, tmp_path) == json.loads(FILE.read_text())[drive.__name__]


def test_every_kind_of_event_is_in_a_golden_log():
    from tightrope_service.events import TYPES

    found = set().union(*(each["events"] for each in json.loads(FILE.read_text()).values()))
    assert found == set(TYPES)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(KeyboardInterrupt):
        golden = {drive.__name__: driven(drive, pathlib.Path(folder)) for drive in DRIVES}
        FILE.write_text(json.dumps(golden, indent=1) + "\n")
