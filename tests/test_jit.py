"""Kernels compiled without reference counts may hand out numbers only."""

import numpy as np
import pytest

from tightrope import _jit


@pytest.mark.skipif(_jit.INTERPRETED, reason="nothing is compiled")
def test_a_lean_kernel_that_returns_an_array_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path))
    scope = {}
    source = "def first(x):\n    return x[0], x.shape[0]\n\n\ndef itself(x):\n    return 1.0, x\n"
    exec(compile(source, str(_jit.ROOT / "rng.py"), "exec"), scope)  # kernels of the package are checked as they are stored
    assert _jit.lean(scope["first"])(np.array([2.0, 3.0])) == (2.0, 2)
    with pytest.raises(TypeError, match="itself is lean but returns"):
        _jit.lean(scope["itself"])(np.zeros(2))
