"""Every compiled policy on a standard problem becomes code for a GPU; none has to be there."""

from types import SimpleNamespace

import numpy as np
import pytest
from numba import typeof, types

from tightrope.compiled.lanes import WORDS
from tightrope.core.policy import compiled
from tightrope.policies import examples
from tightrope.simulation.lanes import ROLES
from tightrope.simulation.loops import as_monitors, as_policies, as_worlds, fixed_horizon
from tightrope.simulation.simulate import FixedHorizon
from tightrope.testing import fits, standard_problems

cuda = pytest.importorskip(
    "tightrope.compiled.cuda", reason="needs the extra tightrope[cuda]", exc_type=ImportError
)
DEVICE = cuda.Device(needed=False)
PROBLEMS = {
    name: problem
    for name, problem in standard_problems().items()
    if getattr(type(problem), "COMPILED", True)
}
POLICIES = {
    name: next((problem for problem in PROBLEMS.values() if fits(policy, problem)), None)
    for name, policy in examples().items()
    if compiled(policy)
}


@pytest.fixture
def device(monkeypatch):
    """One that is not there: device functions ask it for its generation."""
    card = SimpleNamespace(compute_capability=(9, 0))
    monkeypatch.setattr("numba.cuda.dispatcher.get_current_device", lambda: card)
    return DEVICE


@pytest.mark.parametrize("name", [name for name, problem in POLICIES.items() if problem])
def test_kernels_become_ptx(device, name):
    policy, worlds = examples()[name], as_worlds(POLICIES[name])
    rounds = np.array([10])
    experiment = FixedHorizon(
        worlds=worlds,
        policies=as_policies({"one": policy}, worlds, 10),
        rounds=10,
        seed=0,
        monitors=as_monitors(None, ["one"], worlds),
        checkpoints=rounds,
        delay=None,
        in_order=False,
    )
    layout = experiment.layout("one")
    kernel = device.kernel(layout.source(device), fixed_horizon)
    words = np.zeros((WORDS, len(ROLES), 2), dtype=np.uint64)
    arrays = [np.ascontiguousarray(array) for array in layout.arrays]
    kinds = (types.int64, types.int64, *map(typeof, (words, *layout.shared, *arrays)))
    for capability in ((8, 0), (9, 0)):
        assert f"sm_{capability[0]}{capability[1]}" in device.assembly(kernel, kinds, capability)
