"""The same examples in every run, and the helpers beside this file."""

import gc
import os
import pathlib
import signal
import sys
from collections.abc import Iterator

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pinned  # noqa: F401

# isort: split
import numpy as np
import pytest
from hypothesis import settings

from tightrope.compiled.cache import cache_directory

gc.set_threshold(
    100_000, 50, 30
)  # compilation makes millions of objects that stay; looking through them takes a tenth of its time
os.environ["TIGHTROPE_CACHE"] = str(
    cache_directory()
)  # also where a test has moved the user's cache to hide data sets
settings.register_profile("reproducible", derandomize=True)
settings.load_profile("reproducible")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("lab"):
        for library in mark.args:
            pytest.importorskip(library)


@pytest.fixture(autouse=True)
def signals_are_heard() -> Iterator[None]:
    """`tightrope.cli.main` is the end of its process, which ignores signals from then on; in a test
    the process goes on."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def no_data(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder in which data are looked for has any, and there is no network."""

    def offline(*_: object, **__: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("pooch.retrieve", offline)
    for name in ("TIGHTROPE_DATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fuzz-cases",
        type=int,
        default=int(os.environ.get("FUZZ_CASES", "2000")),
        help="Cases of each fuzz test.",
    )
    parser.addoption("--fuzz-seed", type=int, default=0, help="Seed of the fuzz tests.")
    parser.addoption(
        "--fuzz-compiled",
        action="store_true",
        help="Fuzz compiled code (some minutes of compilation).",
    )
