"""What users get: the wheel, installed into an empty environment, runs the demo; what PyPI shows of
it leads nowhere wrong."""

import email
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SESSION_AND_LOG = """
import tightrope as tr

session = tr.Session(tr.Explore(tr.KLUCB(), floor=0.1), arms=["city", "lake"], seed=3)
for t in range(400):
    decision = session.decide()
    session.reward(decision.id, float(decision.name == "lake" or t % 4 == 0))
session.save("banners.safetensors")
assert tr.Session.load("banners.safetensors").decide().arm == session.decide().arm
value = tr.evaluate(tr.logs.from_session(session, floor=0.1), "lake")
assert abs(value.value - 1.0) < 0.1, value
"""


def run(*command, cwd, **more):
    inherited = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "TIGHTROPE"))
    }
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env=inherited | more,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("tightrope-*.whl"))


def test_the_wheel_runs_the_demo_in_an_empty_environment(wheel, tmp_path):
    run(sys.executable, "-m", "venv", tmp_path / "empty", cwd=tmp_path)
    python = tmp_path / "empty" / "bin" / "python"
    run(
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "-c",
        ROOT / "constraints.txt",
        wheel,
        cwd=tmp_path,
    )
    where = run(python, "-c", "import tightrope; print(tightrope.__file__)", cwd=tmp_path)
    assert where.startswith(str(tmp_path))
    run(
        tmp_path / "empty" / "bin" / "tightrope",
        "demo",
        "--out",
        "demo",
        cwd=tmp_path,
        TIGHTROPE_CACHE=str(tmp_path / "cache"),
    )
    pages = list((tmp_path / "demo").rglob("report.html"))
    assert pages
    assert "<svg" in pages[0].read_text()
    run(python, "-c", SESSION_AND_LOG, cwd=tmp_path)
    assert "@inproceedings{xu2018fully" in run(
        tmp_path / "empty" / "bin" / "tightrope", "cite", "LinGapE", cwd=tmp_path
    )


def test_the_wheel_holds_all_that_the_package_reads_and_nothing_else(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    tracked = run("git", "ls-files", "src", cwd=ROOT).split()
    assert {name.removeprefix("src/") for name in tracked} == {
        name for name in held if ".dist-info/" not in name
    }


def test_what_pypi_shows_has_no_link_that_leads_nowhere(wheel):
    archive = zipfile.ZipFile(wheel)
    metadata = email.message_from_bytes(
        archive.read(next(name for name in archive.namelist() if name.endswith("METADATA")))
    )
    text = metadata.get_payload()
    assert text.startswith("# tightrope")
    assert "compare policies" in text
    assert [
        target for target in re.findall(r"\]\(([^)]*)\)", text) if not target.startswith("http")
    ] == []
