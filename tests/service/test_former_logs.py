"""Logs of earlier versions, replayed to the bit: an upgrade changes no running experiment. `record_log.py` makes the files."""

import gzip
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import pinned  # noqa: F401  the same last digits on every processor

# isort: split
import numpy as np
import sqlalchemy as sa
from record_log import FOLDER, ROUNDS, SPECS, next_decision
from running import Clock, ask, create, decide, reward, service_at
from typer.testing import CliRunner

import tightrope as tr
from tightrope.cli import app
from tightrope.service.domain.errors import Refused
from tightrope.service.domain.events import Created
from tightrope.service.domain.former import KEEPERS, POLICIES
from tightrope.service.domain.spec import ExperimentSpec
from tightrope.service.log import store
from tightrope.service.log.database import Database
from tightrope.service.log.tables import snapshots
from tightrope.service.log.transfer import read_log
from tightrope.service.log.verification import replay, verify
from tightrope.service.runtime import commands

DRAWN = {
    "candidates": 500,
    "lints": 500,
    "lints-floor": 500,
    "lints-rounds": 500,
    "safe-lints-rounds": 500,
    "combts": 500,
    "comblints": 500,
}  # draws behind propensities that are frequencies
VERSIONS = {path.name.removesuffix(".json.gz"): json.loads(gzip.decompress(path.read_bytes())) for path in sorted(FOLDER.glob("*.gz"))}


def agree(name, chance, then):
    """Whether two versions state the same propensity: four standard errors of its draws, where it is a frequency, else to rounding.

    Draws of propensities are no draws of choices: a version may take others, or fewer, and plays the same arms.
    """
    chance, then = np.asarray(chance), np.asarray(then)
    if name not in DRAWN:
        return np.allclose(chance, then, rtol=1e-13, atol=0.0)
    share = np.clip((chance + then) / 2.0, 1.0 / DRAWN[name], 1.0 - 1.0 / DRAWN[name])
    return bool((np.abs(chance - then) <= 4.0 * np.sqrt(2.0 * share * (1.0 - share) / DRAWN[name])).all())


def imported(folder, version, name):
    """A database with an experiment that a version played, and what that version decided next."""
    written = VERSIONS[version][name]
    file = folder / f"{name}.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in written["log"]))
    database = Database(str(folder / f"{name}.db"))
    database.migrate()
    with database.write() as connection:
        read_log(connection, file)
    return database, written


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_log_of_an_earlier_version_goes_on_as_it_would_have_there(version, name, tmp_path):
    database, written = imported(tmp_path, version, name)
    with database.read() as connection:
        assert verify(connection, 1, name).errors == ()
        assert replay(connection, 1, name).disagreements == 0
    database.close()
    clock = Clock()
    clock.now = written["now"]
    with service_at(tmp_path / f"{name}.db", clock) as service:
        after = [next_decision(service, clock, name, n) for n in range(ROUNDS, ROUNDS + len(written["after"]))]
        create(service, {"name": name, "seed": 11} | SPECS[name])  # the same spec again is the same experiment
    assert [arm for arm, _ in after] == [arm for arm, _ in written["after"]]
    for (_, chance), (_, chance_then) in zip(after, written["after"], strict=True):
        assert agree(name, chance, chance_then)


def test_a_propensity_that_is_off_is_seen():
    assert agree("linmed", 0.25, 0.25 * (1.0 + 1e-14)) and not agree("linmed", 0.25, 0.25 + 1e-9)
    assert agree("lints", 0.25, 0.27) and not agree("lints", 0.25, 0.45)
    assert agree("combts", [0.5, 0.5], [0.53, 0.47]) and not agree("combts", [0.5, 0.5], [0.65, 0.35])


def test_every_policy_whose_defaults_changed_is_in_the_golden_log():
    inside = json.dumps(SPECS)
    assert {name for name in POLICIES if f'"{name}"' not in inside} <= set(KEEPERS) - {"CUCB2"}  # presets of one class
    assert all(version.keys() == SPECS.keys() for version in VERSIONS.values())


def test_a_cancellation_that_an_earlier_version_would_have_taken_is_taken(tmp_path):
    database, written = imported(tmp_path, "10bdb82", "ucb")
    database.close()
    clock = Clock()
    clock.now = written["now"] + 600 * 10**6  # there, an open decision could be cancelled until its window closed
    with service_at(tmp_path / "ucb.db", clock) as service:
        assert ask(service, commands.cancel, "d5", name="ucb")["cancelled"]


def test_an_experiment_records_every_parameter_and_plays_by_it_when_defaults_change(tmp_path, clock, monkeypatch):
    spec = {
        "name": "e",
        "policy": "LinTS",
        "arms": [{"id": "a"}, {"id": "b"}],
        "dimension": 2,
        "rollout": {},
        "baseline": "a",
        "alpha": 0.2,
    }
    rows = {"context": [[0.75, 0.5], [0.5, 0.25]]}
    with service_at(tmp_path / "a.db", clock) as service:
        create(service, spec)
        decide(service, "1", "e", **rows)
        reward(service, "1", 0.5, "e")
        with service.database.read() as connection:
            event = next(iter(store.read(connection, 1))).event
    assert isinstance(event, Created)
    assert event.policy["inner"] == {"policy": "LinTS"} | {name: tr.LinTS.FIELDS[name].default for name in tr.LinTS.FIELDS}, (
        "every parameter of the policy"
    )
    assert set(event.policy) == {"policy", *tr.Safe.FIELDS}
    whole = ExperimentSpec.model_validate(spec).model_dump(mode="json")
    recorded = whole.keys() - {"workers"}  # of many workers the log itself has another form
    assert {*event.spec, *event.defaults} == recorded and event.defaults["rollout"]["least_budget"] == whole["rollout"]["least_budget"]
    for name, default in (("cancel_within", 1.0), ("seed", 5)):
        monkeypatch.setattr(ExperimentSpec.model_fields[name], "default", default)
    ExperimentSpec.model_rebuild(force=True)
    try:
        assert event.completed.cancel_within == 60.0 and event.completed.seed == 0
        with service_at(tmp_path / "a.db", clock) as service:
            create(service, spec)  # the same words
            create(service, spec | {"cancel_within": 60.0, "seed": 0})  # the same meaning
            with pytest.raises(Refused, match="exists with another spec"):
                create(service, spec | {"seed": 5})
    finally:
        monkeypatch.undo()
        ExperimentSpec.model_rebuild(force=True)


def test_a_snapshot_of_another_version_is_named_as_that_and_not_as_damaged(tmp_path, clock):
    path = tmp_path / "a.db"
    with service_at(path, clock, snapshot_every=2) as service:
        create(service, {"name": "e", "policy": "UCB", "arms": [{"id": "a"}, {"id": "b"}]})
        for n in range(6):
            decide(service, str(n), "e")
            reward(service, str(n), 1.0, "e")
    run = lambda *words: CliRunner().invoke(app, ["log", *words, "--db", str(path)])  # noqa: E731
    assert "another version" not in run("verify").output
    database = Database(str(path))
    for rest in ({"spec": {}}, {"written": "tightrope 0.9.9 (form 7)"}):
        with database.write() as connection:
            for seq, text in connection.execute(sa.select(snapshots.c.seq, snapshots.c.rest)).all():
                other = {key: item for key, item in json.loads(text).items() if key not in ("written", "created")} | rest
                values = {"rest": json.dumps(other), "fingerprint": bytes(32)}
                connection.execute(sa.update(snapshots).where(snapshots.c.seq == seq).values(**values))
        by = "an earlier version of tightrope" if "spec" in rest else "tightrope 0.9.9 (form 7)"
        for told in (run("verify"), run("replay")):
            assert told.exit_code == 0 and f"it was written by {by}, and tightrope" in told.output
            assert "WRONG" not in told.output and "damaged" not in told.output
    database.close()
    with service_at(path, clock) as service:
        assert decide(service, "7", "e")["arm"] in ("a", "b")
