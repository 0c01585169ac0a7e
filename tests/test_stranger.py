"""A stranger's policy, one class of at most 30 lines: checked, typed, hovered, saved, loaded, run
in other processes.

tests/lab/test_stranger_on_a_cluster.py runs it on Dask.
"""

import ast
import inspect
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import tightrope as tr
from moss_outside import OutsideMOSS
from tightrope.testing import check_policy

FILE = pathlib.Path(__file__).parent / "moss_outside.py"
SOURCE = pathlib.Path(tr.__file__).parent.parent
TYPED = """
from moss_outside import OutsideMOSS
import numpy as np
import tightrope as tr
from tightrope.extend import Arms, Context

chosen = OutsideMOSS(horizon=50)
reveal_type(chosen.horizon)
state = chosen.init(Arms(3))
reveal_type(state.pulls)
reveal_type(chosen.select(state, Context(), np.random.default_rng(0)))
session = tr.Session(chosen, arms=3)
OutsideMOSS(horison=50)
chosen.horizons
"""


def test_it_is_one_class_of_at_most_30_lines():
    (cls,) = (node for node in ast.parse(FILE.read_text()).body if isinstance(node, ast.ClassDef))
    lines = FILE.read_text().splitlines()[cls.decorator_list[0].lineno - 1 : cls.end_lineno]
    assert len([line for line in lines if line.strip()]) <= 30
    imported = {
        node.module
        for node in ast.walk(ast.parse(FILE.read_text()))
        if isinstance(node, ast.ImportFrom)
    }
    assert {name for name in imported if name.startswith("tightrope")} == {"tightrope.extend"}


def test_check_policy_passes():
    check_policy(OutsideMOSS(horizon=60))


def test_it_is_saved_and_loaded(tmp_path):
    session, draw = tr.Session(OutsideMOSS(horizon=50), arms=3, seed=0), np.random.default_rng(0)
    for _ in range(20):
        session.update(session.select(), float(draw.random()))
    loaded = tr.Session.load(session.save(tmp_path / "moss.npz"))  # found by its name
    assert loaded.policy == OutsideMOSS(horizon=50)
    np.testing.assert_array_equal(loaded.state.pulls, session.state.pulls)
    assert loaded.select() == session.select()


def test_other_processes_play_it_to_the_same_bits():
    given = {"horizon": 60, "replications": 4, "seed": 1}
    problem = tr.problems.Bernoulli([0.3, 0.5, 0.6])
    here = tr.simulate(problem, OutsideMOSS(horizon=60), **given)
    there = tr.simulate(problem, OutsideMOSS(horizon=60), **given, engine="processes", workers=2)
    assert here.regret["OutsideMOSS"].tobytes() == there.regret["OutsideMOSS"].tobytes()
    assert here.regret["OutsideMOSS"][:, -1].min() > 0.0


def test_help_shows_its_parameters():
    assert str(inspect.signature(OutsideMOSS)) == "(*, horizon=1000.0)"
    assert inspect.getdoc(OutsideMOSS).startswith("mean + sqrt")


def checked(folder, *command):
    """What a type checker prints of TYPED, with the error lines by number."""
    (folder / "script.py").write_text(TYPED)
    environment = os.environ | {"MYPYPATH": f"{SOURCE}:{FILE.parent}"}
    return subprocess.run(
        [*command, "script.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def test_mypy_knows_its_parameters_state_and_methods(tmp_path):
    said = checked(
        tmp_path,
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "--cache-dir",
        str(tmp_path / "cache"),
    )
    for number, words in (
        (8, 'float"'),
        (10, '"numpy.ndarray'),
        (11, 'int"'),
        (13, 'Unexpected keyword argument "horison"'),
        (14, 'has no attribute "horizons"'),
    ):
        assert any(
            line.startswith(f"script.py:{number}: ") and words in line for line in said.splitlines()
        ), said
    assert "Found 2 errors" in said


@pytest.mark.lab("pyright")
def test_pyright_knows_its_parameters_state_and_methods(tmp_path):
    (tmp_path / "pyrightconfig.json").write_text(
        f'{{"extraPaths": ["{SOURCE}", "{FILE.parent}"], "pythonVersion": "3.11"}}'
    )
    said = checked(tmp_path, sys.executable, "-m", "pyright", "--pythonpath", sys.executable)
    for number, words in (
        (8, 'is "float"'),
        (10, 'is "ndarray'),
        (11, 'is "int"'),
        (13, 'No parameter named "horison"'),
        (14, 'Cannot access attribute "horizons"'),
    ):
        assert any(
            f"script.py:{number}:" in line and words in line for line in said.splitlines()
        ), said
    assert "2 errors" in said
