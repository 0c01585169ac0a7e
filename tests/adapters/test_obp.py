"""Logs as the Open Bandit Pipeline's dicts, judged by its own estimators.

obp asks for torch, which only its neural policies need, so it has no extra: `make test-lab`
installs it without what it asks for. Where torch is not installed, a stand-in takes its place for
the import; no number here passes through it.
"""

import importlib.util
import sys
import types
from unittest import mock

import numpy as np
import pytest

import tightrope as tr

if importlib.util.find_spec("obp") is None:
    pytest.skip("obp is not installed", allow_module_level=True)


class StandIn(types.ModuleType):
    """A module that has whatever is asked of it."""

    def __getattr__(self, name):
        return type(name, (), {}) if name[:1].isupper() else mock.MagicMock()


if importlib.util.find_spec("torch") is None:
    for name in ("torch", "torch.nn", "torch.optim", "torch.utils", "torch.utils.data"):
        sys.modules[name] = StandIn(name)
        above, _, last = name.rpartition(".")
        if above:
            setattr(sys.modules[above], last, sys.modules[name])

obp_dataset = pytest.importorskip("obp.dataset")
ope = pytest.importorskip("obp.ope")


def test_both_value_the_same_policy_alike_and_logs_go_there_and_back():
    source = obp_dataset.SyntheticBanditDataset(
        n_actions=4, dim_context=3, reward_type="binary", random_state=1
    )
    feedback = source.obtain_batch_bandit_feedback(n_rounds=3000)
    log = tr.adapters.obp.from_obp(feedback)
    wanted = np.array([0.1, 0.2, 0.3, 0.4])
    action_dist = np.tile(wanted, (3000, 1))[:, :, None]
    theirs = ope.OffPolicyEvaluation(
        feedback,
        [ope.InverseProbabilityWeighting(), ope.SelfNormalizedInverseProbabilityWeighting()],
    )
    values = theirs.estimate_policy_values(action_dist)
    for ours, name in (("ips", "ipw"), ("snips", "snipw")):
        assert tr.evaluate(log, wanted, estimator=ours, baseline=None).value == pytest.approx(
            values[name], rel=1e-9
        )
    back = tr.adapters.obp.to_obp(log)
    again = ope.OffPolicyEvaluation(
        feedback | back, [ope.InverseProbabilityWeighting()]
    ).estimate_policy_values(action_dist)
    assert again["ipw"] == pytest.approx(values["ipw"])
    for key in ("action", "reward", "pscore", "context"):
        assert np.array_equal(back[key], feedback[key])
