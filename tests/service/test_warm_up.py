"""What a warm-up spares the first decision, and what is said meanwhile."""

import asyncio
import dataclasses
import json
import pathlib
import threading
import time

import httpx
import numpy as np
import pytest

from tightrope.compiled.cache import KernelCache
from tightrope_service import commands, keys, service as warming
from tightrope_service.app import create_app
from tightrope_service.events import Cancelled, Expired, ModeChanged, Rewarded
from tightrope_service.experiment import created, decide
from tightrope_service.log import ExperimentJournal
from tightrope_service.requests import DecisionRequest
from tightrope_service.service import common_specs, warm_up
from tightrope_service.settings import Settings
from tightrope_service.spec import ExperimentSpec

NOW = 1_800_000_000_000_000
ARMS = [{"id": "low"}, {"id": "mid"}, {"id": "high"}]
ROWS = [[1.0, 0.2], [0.3, 0.4], [0.5, 0.1]]
OWN = {
    "policy": "CLUCB2",
    "dimension": 2,
    "arms": ARMS,
    "alpha": 0.1,
    "guarantee": {"sigma": 0.5, "arm_bound": 2.0},
    "default_reward": 0.0,
}
SPECS = {
    "arms": ({"policy": "UCB", "arms": ARMS}, {}),
    "a mask": (
        {"policy": "LinTS", "arms": ARMS, "dimension": 2},
        {"context": ROWS, "eligible": ["low", "mid"]},
    ),
    "a mask and a promise": (
        {"policy": "UCB", "arms": ARMS, "baseline": "mid", "baseline_mean": 0.5, "alpha": 0.1},
        {"excluded": ["low"]},
    ),
    "baselines of rounds": (OWN, {"context": ROWS, "baseline": "mid", "baseline_mean": 0.5}),
    "learned baselines of rounds": (
        OWN,
        {"context": ROWS, "baseline": "high", "excluded": ["low"]},
    ),
    "contexts": ({"policy": "LinUCB", "arms": ARMS, "dimension": 2}, {"context": ROWS}),
    "candidates": (
        {"policy": "LinUCB", "dimension": 2},
        {"context": {"new": ROWS[0], "old": ROWS[1], "other": ROWS[2]}},
    ),
    "a promise": (
        {"policy": "UCB", "arms": ARMS, "baseline": "mid", "baseline_mean": 0.5, "alpha": 0.1},
        {},
    ),
    "a rollout": (
        {"policy": "UCB", "arms": ARMS, "baseline": "mid", "rollout": {"mode": "capped"}},
        {},
    ),
}


@pytest.mark.parametrize("name", SPECS)
def test_after_a_warm_up_nothing_is_compiled(name, monkeypatch):
    """Numba asks the cache for every kernel that this process does not have yet: nothing is asked
    for by the second round of all."""
    given, asked = SPECS[name]
    spec = ExperimentSpec.model_validate({"name": "price"} | given)
    warm_up(spec)
    missing = []
    load = KernelCache.load_overload
    monkeypatch.setattr(
        KernelCache,
        "load_overload",
        lambda self, *key: missing.append(self.function.__name__) or load(self, *key),
    )
    journal = ExperimentJournal("price")
    journal.record(created(spec), NOW)
    for id in ("a", "b"):
        journal.record(decide(journal.experiment, id, DecisionRequest(**asked), NOW), NOW)
        journal.record(Rewarded(id, 1.0), NOW)
    for id, ended in (("c", Cancelled("c")), ("d", Expired("d", spec.default_reward))):
        journal.record(decide(journal.experiment, id, DecisionRequest(**asked), NOW), NOW)
        journal.record(ended, NOW)
    if "rollout" in given or name == "a promise":
        journal.record(ModeChanged("shadow", 0.5, False, "command", "", "full"), NOW)
        journal.record(decide(journal.experiment, "e", DecisionRequest(**asked), NOW), NOW)
    if "context" not in asked:
        journal.experiment.session.view().explain()
    assert missing == []


def test_a_decision_that_would_halt_the_others_is_refused_at_creation(monkeypatch):
    spec = ExperimentSpec.model_validate(
        {"name": "price", "policy": "UCB", "arms": ARMS, "seed": 9, "window": "1d"}
    )
    monkeypatch.setattr(warming, "MOST_SECONDS", 1e-9)
    with pytest.raises(ValueError, match=r"policy = UCB.* takes .* s for a decision among 3 arms"):
        warm_up(spec)


def test_features_whose_state_is_too_large_are_refused_with_bytes_and_seconds():
    for given in ({"dimension": 10_000}, {"dimension": 10_000, "arms": ARMS}):
        with pytest.raises(
            ValueError, match=r"dimension = 10000 takes about 2.4 GB and 0.4 s a decision"
        ):
            warm_up(ExperimentSpec.model_validate({"name": "price", "policy": "LinUCB"} | given))


def test_a_promise_around_a_policy_that_draws_decides_in_milliseconds(rng):
    """300 arms with features: 50 ms are allowed; wishes that lead to the baseline are drawn once
    for all of them."""
    rows = rng.normal(size=(300, 10))
    rows /= 1.01 * np.linalg.norm(rows, axis=1)[:, None]
    arms = [{"id": str(k), "features": row.tolist()} for k, row in enumerate(rows)]
    spec = {
        "policy": {"policy": "LinTS", "scale": 0.3},
        "baseline": "0",
        "baseline_mean": 0.5,
        "alpha": 0.1,
        "guarantee": {"sigma": 0.5},
    }
    spec = ExperimentSpec.model_validate({"name": "many", "arms": arms} | spec)
    warm_up(spec)
    journal = ExperimentJournal("many")
    journal.record(created(spec), NOW)
    seconds, drawn = [], 0
    for n in range(60):
        began = time.perf_counter()
        journal.record(decide(journal.experiment, str(n), DecisionRequest(), NOW), NOW)
        seconds.append(time.perf_counter() - began)
        drawn += journal.experiment.session.open[str(n)].propensity_se > 0.0
        journal.record(Rewarded(str(n), 0.9), NOW)
    assert drawn > 4 and np.median(seconds) < 0.05


def test_a_plan_that_makes_no_session_is_refused():
    with pytest.raises(ValueError, match="baseline = 'none' is not the id of an arm"):
        warm_up(
            ExperimentSpec.model_validate(
                {"name": "price", "policy": "UCB", "arms": ARMS, "baseline": "none"}
            )
        )


def test_common_kinds_are_compiled_one_by_one_and_then_the_service_is_ready(
    service, monkeypatch, capsys
):
    compiled = []
    monkeypatch.setattr(commands, "SOON", 0.02)
    monkeypatch.setattr(commands, "warm_up", lambda spec: (time.sleep(0.1), compiled.append(spec)))
    asyncio.run(commands.compile_common(service))
    kinds = [(str(spec.described_policy["policy"]), spec.alpha is not None) for spec in compiled]
    assert {
        ("BetaThompson", True),
        ("BetaThompson", False),
        ("UCB", False),
        ("LinUCB", False),
        ("LinTS", False),
    } <= set(kinds)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Compiling EpsilonGreedy, once on a machine: 0 s") and lines[
        -1
    ].startswith("Ready after 1 s")
    assert not any(line.startswith("Ready") for line in lines[:-1])


def test_whoever_creates_an_experiment_of_a_rare_kind_is_told_what_it_waits_for(
    service, monkeypatch
):
    with service.database.write() as connection:
        headers = {"Authorization": f"Bearer {keys.create(connection, 'admin')}"}
    service.keys.refresh()
    service.settings = dataclasses.replace(service.settings, own_process=True)
    ended, began = threading.Event(), []
    monkeypatch.setattr(commands, "SOON", 0.05)
    monkeypatch.setattr(commands, "warm_up", lambda spec: (began.append(spec), ended.wait(20)))
    spec = {"name": "rare", "policy": "UCB", "arms": ARMS}

    async def tried():
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(create_app(Settings(), service)), base_url="http://t"
        ) as client:
            answers = [
                await client.post("/v1/experiments", json=spec, headers=headers) for _ in range(3)
            ]
            ended.set()
            while answers[-1].status_code == 202:
                answers.append(await client.post("/v1/experiments", json=spec, headers=headers))
            return answers

    answers = asyncio.run(tried())
    assert [one.status_code for one in answers[:3]] == [202] * 3 and len(began) == 1
    assert answers[0].json()["status"] == "compiling" and answers[0].json()["message"].startswith(
        "UCB is being compiled, once on this machine"
    )
    assert answers[-1].status_code in (200, 201) and answers[-1].json()["status"] == "running"


def test_the_tutorial_s_experiment_is_of_a_common_kind(monkeypatch):
    """What a start compiles is all that its creation needs."""
    warm_up(common_specs()[0])
    missing, load = [], KernelCache.load_overload
    monkeypatch.setattr(
        KernelCache,
        "load_overload",
        lambda self, *key: missing.append(self.function.__name__) or load(self, *key),
    )
    page = (
        pathlib.Path(__file__).parents[2] / "docs" / "tutorials" / "safe-price-test.md"
    ).read_text()
    spec = json.loads(page.split("--json '", 1)[1].split("}'")[0] + "}")
    warm_up(ExperimentSpec.model_validate(spec))
    assert missing == []
