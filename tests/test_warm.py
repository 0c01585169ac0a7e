"""`tightrope warm`: compiles in other processes what is then found in the cache."""

import pytest
from typer.testing import CliRunner

from tightrope.cli import app
from tightrope.cli.warm import EXPERIMENTS, jobs, rehearse_experiment


def test_kernels_are_compiled_in_other_processes_and_counted(tmp_path, monkeypatch):
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path))
    done = CliRunner().invoke(app, ["warm", "--only", "session UCB, K", "--workers", "1"])
    assert done.exit_code == 0, done.output
    assert "1 of 1" in done.output and "session: UCB, K = 50" in done.output
    assert list(tmp_path.rglob("*.nbi")) or any(path.is_file() for path in tmp_path.rglob("*"))


def test_what_is_in_no_name_is_an_error():
    done = CliRunner().invoke(app, ["warm", "--only", "LinUBC"])
    assert isinstance(done.exception, ValueError)
    assert "is in the name of nothing that is compiled" in str(done.exception)


def test_simulations_are_of_distinct_kernels():
    names = [job.name for job in jobs() if job.kind == "simulation"]
    assert len(set(names)) == len(names)
    assert not any("K=17" in name and name.replace("K=17", "K=10") in names for name in names)


@pytest.mark.lab
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_kind_of_experiment_can_be_rehearsed(name):
    rehearse_experiment(name)
