"""A reader who knows the README alone gets somewhere in minutes: what the pages say is typed as it
stands there, in an environment of its own.

The minutes include the installation and all compilation, from an empty folder of kernels. They are
those of the clock where nothing else runs, and those of the processors, which are always judged.
"""

import os
import pathlib
import re
import resource
import shutil
import socket
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).parents[2]
KINDS = "sh|python|text|yaml"


def blocks(page, heading=""):
    """Kinds and texts of the blocks of a page, or of one of its sections."""
    text = (ROOT / page).read_text()
    if heading:
        text = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```({KINDS})\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


class Reader:
    """Types commands in a copy of the checkout and counts the seconds. The commands of a page find
    the programs of its environment."""

    def __init__(self, place):
        self.home, self.desk, self.seconds, self.before = (
            place / "tightrope",
            place / "desk",
            0.0,
            0.0,
        )
        tracked = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for name in tracked:
            (self.home / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.home / name)
        self.desk.mkdir()
        inherited = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("PYTHON", "TIGHTROPE", "VIRTUAL_ENV"))
        }
        self.environment = inherited | {
            "PATH": f"{place / 'venv' / 'bin'}:{inherited['PATH']}",
            "COLUMNS": "100",
        }
        self.type(f"'{sys.executable}' -m venv '{place / 'venv'}'")

    def type(self, command, folder=None, **more):
        start = time.monotonic()
        done = subprocess.run(
            ["bash", "-euc", command],
            cwd=folder or self.desk,
            env=self.environment | more,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        self.seconds += time.monotonic() - start
        assert done.returncode == 0, f"{command}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A reader who has installed the library; the seconds by the clock and by the processors that
    this took."""
    before = processor_seconds()
    reader = Reader(tmp_path_factory.mktemp("reader"))
    (_, install), *_ = blocks("docs/install.md")
    reader.type(install, reader.home)
    where = reader.type("python -c 'import tightrope; print(tightrope.__file__)'").strip()
    assert where.startswith(str(reader.desk.parent / "venv"))
    return reader, reader.seconds, processor_seconds() - before


@pytest.fixture
def reader(installed, tmp_path):
    found, found.seconds, used = installed
    found.environment["TIGHTROPE_CACHE"] = str(tmp_path)  # nobody has compiled anything before
    found.before = processor_seconds() - used
    return found


def assert_takes(reader, most):
    """At most so many minutes since the reader began. Where others use the processors the clock
    says nothing of the pages."""
    used, clock = processor_seconds() - reader.before, reader.seconds
    print(f"{clock / 60:.1f} minutes, {used / 60:.1f} of processors")
    assert used < 60 * most
    if os.getloadavg()[1] <= os.cpu_count():
        assert clock < 60 * most


def processor_seconds():
    """Of all that this process has started and that has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_the_readme_prints_what_it_shows(reader):
    code, shown = (text for kind, text in blocks("README.md") if kind in ("python", "text"))
    (reader.desk / "first.py").write_text(code)
    assert reader.type("python first.py") == shown


def test_an_own_comparison_with_a_plot_takes_five_minutes(reader):
    (_, spec), (_, command), *_ = blocks("docs/how-to/compare-policies.md")
    name = spec.split()[1]
    (reader.desk / name).write_text(spec.replace("0.35", "0.40"))  # a price of one's own
    said = reader.type(command)
    report = (reader.desk / "runs" / "prices" / "report.html").read_text()
    assert "<svg" in report and all(
        policy in said for policy in ("UCB", "sharp UCB", "KL-UCB", "Thompson")
    )
    assert_takes(reader, 5)


def test_a_served_decision_takes_five_minutes(reader):
    page = "docs/tutorials/safe-price-test.md"
    reader.type(next(text for _, text in blocks("docs/install.md", "Extras")), reader.home)
    (_, serve), (_, export) = blocks(page, "Serve")
    create, visit = (text for _, text in blocks(page, "Create the experiment"))
    assert export.startswith("export TIGHTROPE_KEY=")
    with socket.socket() as probe:  # another port, because somebody may listen on the page's own
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    start = time.monotonic()
    process = subprocess.Popen(
        f"exec {serve.strip()} --port {port}",
        shell=True,
        cwd=reader.desk,
        env=reader.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        key = ""
        for line in process.stdout:
            key = line.split()[-1] if "tr_" in line else key
            if line.startswith("Ready"):  # for which the page says to wait
                break
        reader.seconds += time.monotonic() - start
        told = [
            reader.type(text.replace(":8080", f":{port}"), TIGHTROPE_KEY=key)
            for text in (create, visit)
        ]
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()
    assert '"arm":"9.90"' in told[1], told
    assert_takes(reader, 5)


def test_a_reproduced_figure_takes_ten_minutes(reader):
    command = blocks("docs/how-to/reproduce-the-papers.md", "One paper, one figure")[0][
        1
    ].splitlines()[0]
    said = reader.type(command)
    assert list((reader.desk / "runs").rglob("fig2/*.svg")) and "claims are judged" in said, said
    assert_takes(reader, 10)
