"""What a rehearsal spares the first decision."""

import pytest

from tightrope._cache import KernelCache
from tightrope.service.experiment import Experiment
from tightrope.service.rehearsal import rehearse
from tightrope.service.requests import DecisionRequest
from tightrope.service.settings import Settings
from tightrope.service.spec import ExperimentSpec

NOW = 1_800_000_000_000_000
ARMS = [{"id": "low"}, {"id": "mid"}, {"id": "high"}]
ROWS = [[1.0, 0.2], [0.3, 0.4], [0.5, 0.1]]
SPECS = {
    "arms": ({"policy": "UCB", "arms": ARMS}, {}),
    "contexts": ({"policy": "LinUCB", "arms": ARMS, "dimension": 2}, {"context": ROWS}),
    "candidates": ({"policy": "LinUCB", "dimension": 2}, {"context": {"new": ROWS[0], "old": ROWS[1], "other": ROWS[2]}}),
    "a promise": ({"policy": "UCB", "arms": ARMS, "baseline": "mid", "baseline_mean": 0.5, "alpha": 0.1}, {}),
    "a rollout": ({"policy": "UCB", "arms": ARMS, "baseline": "mid", "rollout": {"mode": "capped"}}, {}),
}


@pytest.mark.parametrize("name", SPECS)
def test_after_a_rehearsal_nothing_is_compiled(name, monkeypatch):
    """Numba asks the cache for every kernel that this process does not have yet: nothing is asked for by the second round of all."""
    given, asked = SPECS[name]
    spec = ExperimentSpec.model_validate({"name": "price"} | given)
    rehearse(spec, Settings())
    missing = []
    load = KernelCache.load_overload
    monkeypatch.setattr(KernelCache, "load_overload", lambda self, *key: missing.append(self.function.__name__) or load(self, *key))
    live = Experiment("price")
    live.record("created", NOW, {"spec": spec.plain()})
    for id in ("a", "b"):
        live.decide(id, DecisionRequest(**asked), NOW)
        live.record("rewarded", NOW, {"value": 1.0}, id)
    assert missing == []


def test_a_plan_that_makes_no_session_is_refused():
    with pytest.raises(ValueError, match="baseline = 'none' is not the id of an arm"):
        rehearse(ExperimentSpec.model_validate({"name": "price", "policy": "UCB", "arms": ARMS, "baseline": "none"}), Settings())
