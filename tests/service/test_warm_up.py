"""What a warm-up spares the first decision."""

import time

import numpy as np
import pytest

from tightrope.compiled.cache import KernelCache
from tightrope.service.domain.deciding import decide
from tightrope.service.domain.events import Cancelled, Expired, ModeChanged, Rewarded
from tightrope.service.domain.experiment import created
from tightrope.service.domain.requests import DecisionRequest
from tightrope.service.domain.spec import ExperimentSpec
from tightrope.service.log.journal import ExperimentJournal
from tightrope.service.runtime import warm_up as warming
from tightrope.service.runtime.settings import Settings
from tightrope.service.runtime.warm_up import warm_up

NOW = 1_800_000_000_000_000
ARMS = [{"id": "low"}, {"id": "mid"}, {"id": "high"}]
ROWS = [[1.0, 0.2], [0.3, 0.4], [0.5, 0.1]]
OWN = {"policy": "CLUCB2", "dimension": 2, "arms": ARMS, "alpha": 0.1, "guarantee": {"sigma": 0.5, "arm_bound": 2.0}, "default_reward": 0.0}
SPECS = {
    "arms": ({"policy": "UCB", "arms": ARMS}, {}),
    "a mask": ({"policy": "LinTS", "arms": ARMS, "dimension": 2}, {"context": ROWS, "eligible": ["low", "mid"]}),
    "a mask and a promise": ({"policy": "UCB", "arms": ARMS, "baseline": "mid", "baseline_mean": 0.5, "alpha": 0.1}, {"excluded": ["low"]}),
    "baselines of rounds": (OWN, {"context": ROWS, "baseline": "mid", "baseline_mean": 0.5}),
    "learned baselines of rounds": (OWN, {"context": ROWS, "baseline": "high", "excluded": ["low"]}),
    "contexts": ({"policy": "LinUCB", "arms": ARMS, "dimension": 2}, {"context": ROWS}),
    "candidates": ({"policy": "LinUCB", "dimension": 2}, {"context": {"new": ROWS[0], "old": ROWS[1], "other": ROWS[2]}}),
    "a promise": ({"policy": "UCB", "arms": ARMS, "baseline": "mid", "baseline_mean": 0.5, "alpha": 0.1}, {}),
    "a rollout": ({"policy": "UCB", "arms": ARMS, "baseline": "mid", "rollout": {"mode": "capped"}}, {}),
}


@pytest.mark.parametrize("name", SPECS)
def test_after_a_warm_up_nothing_is_compiled(name, monkeypatch):
    """Numba asks the cache for every kernel that this process does not have yet: nothing is asked for by the second round of all."""
    given, asked = SPECS[name]
    spec = ExperimentSpec.model_validate({"name": "price"} | given)
    warm_up(spec, Settings())
    missing = []
    load = KernelCache.load_overload
    monkeypatch.setattr(KernelCache, "load_overload", lambda self, *key: missing.append(self.function.__name__) or load(self, *key))
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
    spec = ExperimentSpec.model_validate({"name": "price", "policy": "UCB", "arms": ARMS, "seed": 9, "window": "1d"})
    monkeypatch.setattr(warming, "MOST_SECONDS", 1e-9)
    with pytest.raises(ValueError, match=r"policy = UCB.* takes .* s for a decision among 3 arms"):
        warm_up(spec, Settings())


def test_features_whose_state_is_too_large_are_refused_with_bytes_and_seconds():
    for given in ({"dimension": 10_000}, {"dimension": 10_000, "arms": ARMS}):
        with pytest.raises(ValueError, match=r"dimension = 10000 takes about 2.4 GB and 0.4 s a decision"):
            warm_up(ExperimentSpec.model_validate({"name": "price", "policy": "LinUCB"} | given), Settings())


def test_a_promise_around_a_policy_that_draws_decides_in_milliseconds():
    """300 arms with features: 50 ms are allowed; wishes that lead to the baseline are drawn once for all of them."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 10))
    rows /= 1.01 * np.linalg.norm(rows, axis=1)[:, None]
    arms = [{"id": str(k), "features": row.tolist()} for k, row in enumerate(rows)]
    spec = {"policy": {"policy": "LinTS", "scale": 0.3}, "baseline": "0", "baseline_mean": 0.5, "alpha": 0.1, "guarantee": {"sigma": 0.5}}
    spec = ExperimentSpec.model_validate({"name": "many", "arms": arms} | spec)
    warm_up(spec, Settings())
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
        warm_up(ExperimentSpec.model_validate({"name": "price", "policy": "UCB", "arms": ARMS, "baseline": "none"}), Settings())
