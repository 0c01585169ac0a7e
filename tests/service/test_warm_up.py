"""What a warm-up spares the first decision."""

import pytest

from tightrope.compiled.cache import KernelCache
from tightrope.service.domain.deciding import decide
from tightrope.service.domain.events import Created, Rewarded
from tightrope.service.domain.requests import DecisionRequest
from tightrope.service.domain.spec import ExperimentSpec
from tightrope.service.log.journal import Journal
from tightrope.service.runtime.settings import Settings
from tightrope.service.runtime.warm_up import warm_up

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
def test_after_a_warm_up_nothing_is_compiled(name, monkeypatch):
    """Numba asks the cache for every kernel that this process does not have yet: nothing is asked for by the second round of all."""
    given, asked = SPECS[name]
    spec = ExperimentSpec.model_validate({"name": "price"} | given)
    warm_up(spec, Settings())
    missing = []
    load = KernelCache.load_overload
    monkeypatch.setattr(KernelCache, "load_overload", lambda self, *key: missing.append(self.function.__name__) or load(self, *key))
    journal = Journal("price")
    journal.record(Created(spec.plain()), NOW)
    for id in ("a", "b"):
        journal.record(decide(journal.experiment, id, DecisionRequest(**asked), NOW), NOW)
        journal.record(Rewarded(id, 1.0), NOW)
    assert missing == []


def test_a_plan_that_makes_no_session_is_refused():
    with pytest.raises(ValueError, match="baseline = 'none' is not the id of an arm"):
        warm_up(ExperimentSpec.model_validate({"name": "price", "policy": "UCB", "arms": ARMS, "baseline": "none"}), Settings())
