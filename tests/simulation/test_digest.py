"""What digests see of code: of one's own, of this package and of installed ones."""

import functools
import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import venv

import numpy as np
import pytest

import tightrope as tr
from tightrope.compiled import cache
from tightrope.core.policy import Policy
from tightrope.simulation.store import Undigestible, digest, is_outside
from tightrope_papers.conservative.theory import WatchMartingale

PACKAGE = pathlib.Path(tr.__file__).parent


@pytest.fixture
def load(tmp_path, monkeypatch):
    """A function that writes modules into a folder of tmp_path and imports the first of them
    anew."""
    monkeypatch.setattr(
        sys, "dont_write_bytecode", True
    )  # Python tells files apart by second and size
    written = set()

    def written_and_imported(folder="", **sources):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        monkeypatch.syspath_prepend(tmp_path / folder)
        for name, source in sources.items():
            path = tmp_path / folder / f"{name.replace('__', '/', 1)}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(source)
            written.add(name.partition("__")[0])
        forget()
        return importlib.import_module(next(iter(sources)).replace("__", "."))

    def forget():
        importlib.invalidate_caches()
        for name in [name for name in sys.modules if name.partition(".")[0] in written]:
            del sys.modules[name]
        for function in (cache._imported, cache.version_of):
            function.cache_clear()

    yield written_and_imported
    forget()


def in_another_process(folder, code, python=sys.executable):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    done = subprocess.run(
        [python, "-B", "-c", code],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split()


# This package -------------------------------------------------------------------------------------

PLANNED = """
import tightrope as tr
from tightrope_papers.conservative.theory import WatchMartingale
from tightrope.simulation.store import digest
print(*(digest(item) for item in (WatchMartingale(0.5, 0.1), tr.UCB())))
"""


def test_an_edit_of_a_papers_own_monitor_is_seen(tmp_path):
    """Failed before: the sources of papers are in no hash, and their classes were taken by name."""
    for package in ("tightrope", "tightrope_papers"):
        shutil.copytree(
            PACKAGE.parent / package,
            tmp_path / package,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    before = in_another_process(tmp_path, PLANNED)
    path = tmp_path / "tightrope_papers/conservative/theory.py"
    old = "tally.means[0] += earned"  # in a function that the kernel calls
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, "tally.means[0] -= earned"))
    after = in_another_process(tmp_path, PLANNED)
    assert [first == second for first, second in zip(before, after, strict=True)] == [False, True]


def test_another_kernel_of_a_papers_class_is_another_digest(monkeypatch):
    before = digest(WatchMartingale)
    assert digest(WatchMartingale) == before
    monkeypatch.setattr(WatchMartingale, "watch", lambda *arguments: 0)
    assert digest(WatchMartingale) != before


def test_every_module_of_this_package_is_in_the_hash_or_taken_by_content():
    """What is looked up by name has to be in the hash of the sources."""
    loaded = {
        name: module
        for name, module in sys.modules.items()
        if name.partition(".")[0] == "tightrope"
    }
    hashed = {name for name, module in loaded.items() if not is_outside(module)}
    assert {
        "tightrope.core.streams",
        "tightrope.core.registry",
        "tightrope.simulation.loops",
        "tightrope.policies.classic.ucb",
    } <= hashed
    for name in hashed:
        assert cache.file_of(name) in cache.HASHED
    assert is_outside(sys.modules["tightrope_papers.conservative.theory"])
    assert not is_outside(tr.UCB)
    assert not is_outside(Policy)


# Installed packages -------------------------------------------------------------------------------


def installed(load, tmp_path, name, source, version):
    """A function f of an installed package, in a folder like Python's own for these."""
    folder = tmp_path / "site-packages" / f"{name}-0.dist-info"
    if version is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
    return load("site-packages", **{name: source}).f


FIRST, SECOND = "def f(x):\n    return x + 1\n", "def f(x):\n    return x + 2\n"


def test_an_installed_package_is_taken_by_name_and_version(load, tmp_path):
    """Failed before: only `__version__` was looked at, which many packages lack."""
    before = digest(installed(load, tmp_path, "plugged", FIRST, "1.0"))
    assert digest(installed(load, tmp_path, "plugged", SECOND, "1.0")) == before
    assert digest(installed(load, tmp_path, "plugged", SECOND, "1.1")) != before


def test_an_installed_package_without_a_version_is_taken_by_content(load, tmp_path):
    """Failed before: such a package was taken by its name alone."""
    before = digest(installed(load, tmp_path, "bare", FIRST, None))
    assert digest(installed(load, tmp_path, "bare", FIRST, None)) == before
    assert digest(installed(load, tmp_path, "bare", SECOND, None)) != before
    assert not is_outside(np.linalg.norm)
    assert not is_outside(shutil.copytree)  # Python itself has no version among the packages


def test_a_virtual_environment_in_the_projects_folder_leaves_its_modules_ones_own(tmp_path):
    """Failed before: everything below sys.prefix counted as installed, and an edited kernel found
    the old chunks."""
    venv.create(tmp_path, symlinks=True)
    (tmp_path / "mine.py").write_text(FIRST)
    code = """
import json, sys, numpy, mine
from tightrope.simulation.store import is_outside
print(sys.prefix, is_outside(mine.f), is_outside(numpy.linalg.norm), is_outside(json.dumps))
"""
    found = in_another_process(tmp_path, code, str(tmp_path / "bin" / "python"))
    assert found == [str(tmp_path), "True", "False", "False"]


# Modules whose attributes a function reads --------------------------------------------------------


def test_what_a_module_imports_from_its_own_folder_is_a_part_of_it(load):
    """Failed before: of helpers only its own file was looked at."""
    kernel, helpers = (
        "import helpers\ndef f(x):\n    return helpers.g(x)\n",
        "import inner\ndef g(x):\n    return inner.h(x)\n",
    )
    one, two = "def h(x):\n    return 1.0\n", "def h(x):\n    return 2.0\n"
    before = digest(load(kernel=kernel, helpers=helpers, inner=one, apart=one).f)
    assert digest(load(kernel=kernel, helpers=helpers, inner=one, apart=two).f) == before
    assert digest(load(kernel=kernel, helpers=helpers, inner=two, apart=one).f) != before
    assert digest(load(kernel=kernel, helpers=f"{helpers}\n", inner=one).f) != before


@pytest.mark.parametrize("start", ["", None])
def test_a_module_of_a_package_is_seen_where_its_package_is_imported(load, start):
    """Failed before: of own.helpers.g only own/__init__.py was looked at, or nothing where there is
    none."""
    files = {
        "kernel": "import own.helpers\ndef f(x):\n    return own.helpers.g(x)\n",
        "own__helpers": "from . import inner\ndef g(x):\n    return inner.h(x)\n",
        "own__inner": FIRST,
    }
    if start is not None:
        files["own____init__"] = start
    before = digest(load(**files).f)
    assert digest(load(**files).f) == before
    assert digest(load(**files | {"own__helpers": "def g(x):\n    return 0.0\n"}).f) != before
    assert digest(load(**files | {"own__inner": SECOND}).f) != before


def _cached(sign):
    @functools.lru_cache(None)
    def level(arm):
        return sign * arm

    return level


def _importing(sign, folder):
    (folder / "levels_of_a_test.py").write_text(f"LEVEL = {sign}\n" + "#" * (sign + 2))
    sys.modules.pop("levels_of_a_test", None)
    importlib.invalidate_caches()

    def level(arm):
        from levels_of_a_test import LEVEL

        return LEVEL * arm

    return level


def _configured(sign, folder):
    (folder / "config_of_a_test.py").write_text("LEVEL = 1\n")
    importlib.invalidate_caches()
    module = importlib.import_module("config_of_a_test")
    module.LEVEL = sign
    return lambda arm: module.LEVEL * arm


def _attributed(sign):
    def level(arm):
        return level.sign * arm

    level.sign = sign
    return level


def _of_a_class(sign):
    class Levels:
        if sign > 0:

            @staticmethod
            def checked(arm):
                return arm
        else:

            @staticmethod
            def checked(arm):
                return -arm

    return lambda arm: Levels.checked(arm)


@pytest.mark.parametrize("make", [_cached, _importing, _configured, _attributed, _of_a_class])
def test_code_that_a_function_reaches_in_other_ways_tells(make, tmp_path, monkeypatch):
    """Failed before: a run folder gave back the numbers of other code."""
    monkeypatch.syspath_prepend(tmp_path)
    more = (tmp_path,) if make in (_importing, _configured) else ()
    first, again, other = (digest(make(sign, *more)) for sign in (1, 1, -1))
    assert first == again
    assert first != other


def test_a_ufunc_made_of_a_function_is_refused():
    assert digest(np.add) == digest(np.add) != digest(np.subtract)
    with pytest.raises(Undigestible, match="does not tell the function"):
        digest(np.frompyfunc(lambda arm: arm, 1, 1))
