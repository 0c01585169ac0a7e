"""Every compiled policy on every kind of problem becomes code for a GPU; none has to be there.

A kernel is the same where the types of its arguments are, so of pairs that are alike one is
compiled. `make test-lab` compiles those of a few policies, `make test-gpu` all (an hour).
"""

from types import SimpleNamespace

import numpy as np
import pytest
from numba import typeof, types

import tightrope as tr
from tightrope.compiled.lanes import WORDS
from tightrope.core.policy import compiled
from tightrope.policies import examples
from tightrope.simulation.executors import gpu
from tightrope.simulation.lanes import ROLES
from tightrope.simulation.loops import as_monitors, as_policies, as_worlds
from tightrope.simulation.simulate import FixedHorizon, UntilStop
from tightrope.testing import fits, standard_problems

cuda = pytest.importorskip(
    "tightrope.compiled.cuda", reason="needs the extra tightrope[cuda]", exc_type=ImportError
)
DEVICE = cuda.Device(needed=False)
CAPABILITIES = {"sm_80": (8, 0), "sm_90": (9, 0)}
PROBLEMS = {
    name: problem
    for name, problem in standard_problems().items()
    if getattr(type(problem), "COMPILED", True)
}
POLICIES = {name: policy for name, policy in examples().items() if compiled(policy)}
FEW = ["UCB", "KLUCB", "BetaThompson", "Conservative", "Safe", "LinUCB", "SoftUCB", "LinGapE"]
FEW += ["HOO", "CKLUCB", "OSLB"]
first_of = {type(policy).__name__: policy for policy in reversed(POLICIES.values())}


@pytest.fixture
def device(monkeypatch):
    """One that is not there, of capability 9.0."""
    card = SimpleNamespace(compute_capability=(9, 0))
    monkeypatch.setattr("numba.cuda.dispatcher.get_current_device", lambda: card)
    context = SimpleNamespace(device=card)
    monkeypatch.setattr("numba.cuda.codegen.devices.get_context", lambda: context)
    monkeypatch.setattr("numba.cuda.dispatcher._Kernel.bind", lambda self: None)
    return DEVICE


def simulation(policy, problem, monitor=None, delay=None):
    worlds = as_worlds(problem)
    return FixedHorizon(
        worlds=worlds,
        policies=as_policies({"one": policy}, worlds, 10),
        rounds=10,
        seed=0,
        monitors=as_monitors(monitor, ["one"], worlds),
        checkpoints=np.array([10]),
        delay=delay,
        in_order=False,
    )


def kernel_of(device, experiment):
    """The kernel, its source, its loop and the types of its arguments."""
    layout = experiment.layout("one")
    source, words = layout.source(device), np.zeros((WORDS, len(ROLES), 2), dtype=np.uint64)
    arrays = [words, np.zeros(2, dtype=np.int64), *layout.shared]
    arrays += [np.ascontiguousarray(array) for array in layout.arrays]
    kinds = (types.int64, types.int64, *map(typeof, arrays))
    return device.kernel(source, layout.loop), source, layout.loop, kinds


def check_assembly(device, experiment):
    kernel, _, _, kinds = kernel_of(device, experiment)
    assembly = device.assembly(kernel, kinds, list(CAPABILITIES.values()))
    for name, text in zip(CAPABILITIES, assembly, strict=True):
        assert f".target {name}" in text


@pytest.mark.parametrize("name", FEW)
def test_kernels_become_ptx(device, name):
    policy = first_of[name]
    problem = next(problem for problem in PROBLEMS.values() if fits(policy, problem))
    check_assembly(device, simulation(policy, problem))


seen = set()


@pytest.mark.matrix
@pytest.mark.parametrize("name", POLICIES)
def test_all_kernels_become_ptx(device, name):
    for problem in PROBLEMS.values():
        if not fits(POLICIES[name], problem):
            continue
        try:
            experiment = simulation(POLICIES[name], problem)
            _, source, _, kinds = kernel_of(device, experiment)
        except ValueError:
            continue  # its parameters ask for other features
        if (source, kinds) not in seen:
            seen.add((source, kinds))
            check_assembly(device, experiment)


@pytest.mark.parametrize("name", [name for name in FEW if first_of[name].TRAITS.stops] + ["UGapE"])
def test_kernels_that_stop_become_ptx(device, name):
    worlds = as_worlds(next(each for each in PROBLEMS.values() if fits(first_of[name], each)))
    policies = as_policies({"one": first_of[name]}, worlds, None)
    check_assembly(device, UntilStop(worlds, policies, 10, 0, True))


def test_delays_and_monitors_become_ptx(device):
    problems = [tr.problems.Bernoulli([0.3, 0.5]), tr.problems.Bernoulli([0.4, 0.5])]
    more = tr.Budget(baseline=0), tr.delays.Geometric(9.0)
    check_assembly(device, simulation(tr.UCB(), problems, *more))


def test_a_kernel_is_found_on_disk(device, tmp_path, monkeypatch):
    """By the next process, unless anything that it is made of is another one."""
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "kernels"))
    kernel, source, loop, kinds = kernel_of(device, simulation(tr.UCB(), PROBLEMS["bernoulli"]))
    compiled = kernel.compile(kinds)
    kept = cuda.DeviceCache(source, loop.py_func)
    found = kept.load_overload(kinds, None)
    assert found is not compiled and found.entry_name == compiled.entry_name
    assert found.library.get_asm_str() == compiled.library.get_asm_str()
    assert cuda.DeviceCache(source + " ", loop.py_func).load_overload(kinds, None) is None
    assert kept.load_overload(kinds[1:], None) is None
    other = SimpleNamespace(compute_capability=(8, 0))
    monkeypatch.setattr("numba.cuda.dispatcher.get_current_device", lambda: other)
    assert kept.load_overload(kinds, None) is None


def test_without_a_card_a_sentence_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.cuda.is_available", lambda: False)
    gpu.cache_clear()
    with pytest.raises(ValueError, match="'cuda' needs an NVIDIA GPU with its driver, and none is"):
        tr.simulate(PROBLEMS["bernoulli"], tr.UCB(), horizon=10, engine="cuda", out=tmp_path)
    assert not any(tmp_path.iterdir())
