"""A reproduction that is killed at random moments and goes on ends with the tables of an
undisturbed one."""

import importlib.util
import pathlib
import subprocess
import sys

KILLS = pathlib.Path(__file__).parents[2] / "benchmarks" / "kills.py"


def test_killed_reproductions_end_with_the_same_bytes(tmp_path):
    command = [
        sys.executable,
        str(KILLS),
        "--kills",
        "2",
        "--papers",
        "lipschitz",
        "--most",
        "10",
        "--folder",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " files of tables, rows and claims, 0 of them differ" in done.stdout
    assert any(
        line.startswith("   2 ") for line in done.stdout.splitlines()
    )  # a fast machine may end the run before a kill
    spec = importlib.util.spec_from_file_location("kills", KILLS)
    kills = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kills)
    before = kills.tables(tmp_path / "killed")  # and a difference would be seen
    table = next((tmp_path / "killed").rglob("*.csv"))
    table.write_bytes(table.read_bytes().replace(b"1", b"2", 1))
    assert (
        sum(before[name] != digest for name, digest in kills.tables(tmp_path / "killed").items())
        == 1
    )
