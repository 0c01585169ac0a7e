"""Results do not move: decisions and regrets to the bit, with the CPU's fused multiply-add and
without."""

import json
import os
import subprocess
import sys

import pytest

from golden import record
from standard import all_pairs, quick_pairs
from tiers import thorough

FMA_OFF = "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX2_Usable,-FMA_Usable"


@pytest.fixture(scope="module")
def stored():
    return json.loads(record.STORED.read_text())


def recorded_elsewhere(*options, **environment):
    """What another process records."""
    given = os.environ | environment | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, record.__file__, *options],
        env=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_results_of_the_quick_pairs_are_the_recorded_ones(stored):
    """Uncompiled: the contract compares the compiled kernels of the same pairs with uncompiled
    ones, to the bit."""
    pairs = record.quick()
    assert len(pairs) == len(quick_pairs(all_pairs()))  # all are stored
    assert (
        record.differences(
            {pair: stored[pair] for pair in pairs},
            recorded_elsewhere("--quick", NUMBA_DISABLE_JIT="1"),
        )
        == []
    )


@thorough
def test_results_are_the_recorded_ones(stored):
    assert record.differences(stored, record.record()) == []


@thorough
def test_without_fused_multiply_add_decisions_are_the_same(stored):
    """libm picks its exp and log by CPU; their last bits differ, the decisions of these runs do
    not."""
    assert record.differences(stored, recorded_elsewhere(GLIBC_TUNABLES=FMA_OFF)) == []


def test_a_planted_difference_is_found(stored):
    pair = sorted(stored)[0]
    wrong = json.loads(json.dumps(stored))
    wrong[pair]["pulls"] = "0" * 16
    wrong[pair]["explain"]["mean"][0] += 1e-6
    assert len(record.differences(stored, wrong)) == 2
