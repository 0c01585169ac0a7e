"""Compiled kernels on disk: found again by the next process, and never stale."""

import ast
import hashlib
import importlib
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import time
import types

import numpy as np
import pytest
from numba.core.registry import CPUDispatcher

import tightrope as tr
from tiers import thorough
from tightrope.compiled import cache, kernels
from tightrope.compiled.kernels import INTERPRETED, python_of

OWN = """
import math
from typing import NamedTuple
import numpy as np
from tightrope.extend import jit, policy, real
import helper

class State(NamedTuple):
    pulls: np.ndarray

@policy("arms", paper="none")
class Stubborn:
    arm: float = real(default=0.0)

    def init(self, arms):
        return State(np.zeros(arms.number))

    @jit
    def select(self, state, context, rng):
        return CHOICE + helper.SHIFT

    @jit
    def update(self, state, context, action, reward):
        state.pulls[action] += 1.0
        return state
"""

RUN = """
import json
import tightrope as tr, mine
from tightrope.simulation.loops import fixed_horizon
problem = tr.problems.Bernoulli([.1, .2, .3, .4])
found = tr.simulate(problem, {"own": mine.Stubborn(), "UCB": tr.UCB()}, horizon=50)
missed = sorted({str(key[0]).split("(")[0] for key in fixed_horizon.stats.cache_misses})
print(json.dumps([missed, {name: pulls[0].tolist() for name, pulls in found.pulls.items()}]))
"""


@pytest.fixture
def place(tmp_path):
    """A copy of the package, and beside it a policy of one's own with a helper."""
    source = pathlib.Path(tr.__file__).parent
    shutil.copytree(source, tmp_path / "tightrope", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "helper.py").write_text("SHIFT = 0\n")
    (tmp_path / "mine.py").write_text(OWN.replace("CHOICE", "1"))
    return tmp_path


def run(place):
    """Policies whose loop was compiled, and pulls, of a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(place), "TIGHTROPE_CACHE": str(place / "cache")}
    done = subprocess.run(
        [sys.executable, "-B", "-c", RUN],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def edit(path, before, after):
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def append(path):
    path.write_text(path.read_text() + "# edited\n")


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
@thorough
def test_a_second_process_compiles_nothing_and_an_edit_compiles_only_what_it_touches(
    place,
):  # loops check policies from outside
    first, second = run(place), run(place)
    assert first[0] == ["CheckedPolicy", "UCB"]
    assert second == [[], first[1]]
    assert first[1]["own"][1] == 50

    for file in (
        "cli/__init__.py",
        "plots/style.py",
        "policies/linear/linucb.py",
        "simulation/simulate.py",
    ):
        append(place / "tightrope" / file)
    assert run(place) == [[], first[1]]

    edit(place / "helper.py", "0", "1")
    third = run(place)
    assert (third[0], third[1]["own"][2]) == (["CheckedPolicy"], 50)

    edit(place / "mine.py", "return 1 +", "return 0 +")
    edit(
        place / "tightrope/policies/classic/ucb.py",
        "math.sqrt(scale / n)",
        "0.01 * math.sqrt(scale / n)",
    )
    fourth = run(place)
    assert (fourth[0], fourth[1]["own"][1]) == (["CheckedPolicy", "UCB"], 50)
    assert fourth[1]["UCB"] != first[1]["UCB"]

    append(place / "tightrope/core/verbs.py")
    assert run(place) == [["CheckedPolicy", "UCB"], fourth[1]]


def all_kernels():
    for name, module in sorted(sys.modules.items()):
        if name.split(".")[0] == "tightrope":
            for value in vars(module).values():
                if isinstance(value, CPUDispatcher) and value.py_func.__module__ == name:
                    yield name, value


def used(function, seen):
    """Modules of everything that a function's globals lead to: functions, kernels, classes and the
    constants' own modules."""
    code = function.__code__
    for name in [
        *code.co_names,
        *(
            inner
            for item in code.co_consts
            if isinstance(item, types.CodeType)
            for inner in item.co_names
        ),
    ]:
        value = function.__globals__.get(name)
        plain = python_of(value)
        module = getattr(plain, "__module__", None) or getattr(value, "__name__", None)
        if isinstance(module, str) and module.startswith("tightrope.") and (id(plain) not in seen):
            seen[id(plain)] = module
            if isinstance(plain, types.FunctionType):
                used(plain, seen)
    return set(seen.values())


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_whatever_a_kernel_uses_is_in_its_key():
    for file in pathlib.Path(tr.__file__).parent.rglob(
        "*.py"
    ):  # papers are imported when they are reproduced
        if "kernels import" in file.read_text() and file.name != "cuda.py":  # of an extra
            importlib.import_module(
                ".".join(
                    file.relative_to(pathlib.Path(tr.__file__).parent.parent).with_suffix("").parts
                )
            )
    count = 0
    for name, kernel in all_kernels():
        sources, _ = cache.closure(frozenset({name}))
        missing = used(kernel.py_func, {}) - sources
        assert not missing, f"{name}.{kernel.py_func.__name__} uses {missing}"
        if not name.startswith(
            ("tightrope_papers", "tightrope.session")
        ):  # theirs stand beside what uses them
            assert not {
                item
                for item in sources
                if item.startswith(("tightrope.pages", "tightrope.cli", "tightrope.session"))
            }
        assert isinstance(getattr(kernel, "outside", kernel)._cache, cache.KernelCache)
        count += 1
    assert count > 100


def test_classes_answer_with_the_files_of_all_their_kernels():
    from tightrope.core.policy import PROBLEMS, REGISTRY
    from tightrope.core.verbs import VERBS

    classes = [
        item
        for item in [*REGISTRY.values(), *PROBLEMS.values()]
        if isinstance(item, type) and item.__module__.startswith("tightrope.")
    ]
    assert len(classes) > 40
    for cls in classes:
        for name, verb in VERBS.items():
            kernel = verb.of(cls) if hasattr(cls, name) else None
            if kernel is not None:
                assert python_of(kernel).__module__ in cache.answering(cls)
    assert "tightrope.policies.identification.stopping" in cache.answering(
        tr.LinGapE
    )  # `stopped` of its base class


def test_what_no_other_process_could_find_is_kept_in_memory():
    class Local(tuple):
        __slots__ = ()

    assert not cache.findable(Local)
    assert cache.findable(tr.UCB)
    scope = {"__name__": "tightrope.core.streams"}
    exec(compile("def made(x):\n    return x\n", "<cell>", "exec"), scope)
    assert cache.module_of(scope["made"]) is None
    assert cache.sources_key(frozenset({"tightrope.core.streams"})) is not None


def test_a_file_changed_after_the_process_started_is_not_trusted(monkeypatch):
    monkeypatch.setattr(cache, "STARTED", 0.0)
    assert cache.sources_key(frozenset({"tightrope.core.streams"})) is None


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from a.b import (c,  # (d\n    e)\n", ["a.b"]),
        ("from . import x, y\n", [None]),
        ("if True: import p.q as r; from s import t\n", ["p.q", "s"]),
        ('"""\nfrom here on it is a sentence\nimport it, really\n"""\n', ["it"]),  # does no harm
        ("try:\n    from one \\\n        import two\nexcept ImportError:\n    pass\n", ["one"]),
    ],
)
def test_import_statements_are_found_without_parsing_the_file(source, found):
    nodes = list(cache._import_statements(source))
    assert {
        node.names[0].name if isinstance(node, ast.Import) else node.module for node in nodes
    } == set(found)


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
@pytest.mark.parametrize("folder", ["", "/proc/nowhere"])
def test_a_lean_kernel_that_returns_an_array_is_refused_wherever_it_is_written(monkeypatch, folder):
    if folder:
        monkeypatch.setenv("TIGHTROPE_CACHE", folder)
    scope = {}
    exec(
        "def first(x):\n    return x[0], x.shape[0]\n\n\ndef itself(x):\n    return 1.0, x\n", scope
    )
    assert kernels.lean(scope["first"])(np.array([2.0, 3.0])) == (2.0, 2)
    with pytest.raises(TypeError, match="itself is lean but returns"):
        kernels.lean(scope["itself"])(np.zeros(2))
    caller = {"itself": kernels.lean(scope["itself"])}
    exec("def calls(x):\n    return itself(x)[0]\n", caller)
    with pytest.raises(TypeError, match="itself is lean but returns"):
        kernels.jit(caller["calls"])(np.zeros(2))


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_kernels_that_return_arrays_are_compiled_for_each_way_to_count_references():
    """Code that a lean kernel compiled first does not count what it returns: a caller that does
    would free arrays that are in use."""

    def halves(x):
        return x[:1], x[1:]

    def lean_caller(x):
        return halves(x)[0][0]

    def counting_caller(x):
        first, second = halves(x)
        return np.concatenate((second, first))

    halves = kernels.jit(halves)
    x = np.arange(3.0)
    with pytest.raises(
        TypeError,
        match=r"a lean kernel but calls halves, which returns arrays; "
        r"decorate "
        r"halves with "
        r"returns_views",
    ):
        kernels.lean(lean_caller)(x)
    halves = kernels.returns_views(python_of(halves))
    before = sys.getrefcount(x)
    assert kernels.lean(lean_caller)(x) == 0.0
    again = kernels.jit(counting_caller)
    for _ in range(5):
        np.testing.assert_array_equal(again(x), [1.0, 2.0, 0.0])
    assert sys.getrefcount(x) == before


def test_files_of_signatures_cannot_be_mistaken(tmp_path):
    """Numba numbers them: two processes that saved at the same time could leave one's code under
    the other's signature, which crashes."""
    first, second = (cache.SignatureFiles(tmp_path, "f") for _ in range(2))
    first.save(("float64",), "code for floats")
    second.save(("int64",), "code for ints")
    assert (second.load(("float64",)), first.load(("int64",)), first.load(("bool",))) == (
        "code for floats",
        "code for ints",
        None,
    )
    shutil.copy(first._path(("int64",)), first._path(("float64",)))
    assert first.load(("float64",)) is None
    assert len(list(tmp_path.iterdir())) == 2


def test_a_planted_pickle_is_never_loaded(tmp_path):
    """Neither as a file of its own, nor behind a head that is right for other bytes, nor with a
    digest that says nothing of the signature."""
    files, planted = cache.SignatureFiles(tmp_path / "sources" / "file", "f"), tmp_path / "executed"
    files.folder.mkdir(parents=True)
    files.save(("int64",), "code")
    path, bomb = files._path(("int64",)), pickle.dumps((("int64",), Bomb(str(planted))))
    head = path.read_bytes()[: len(cache.MAGIC) + cache.DIGEST_BYTES]
    for data in (
        bomb,
        head + bomb,
        cache.MAGIC + hashlib.sha256(bomb).digest() + bomb,
        cache.MAGIC + bomb,
    ):
        path.write_bytes(data)
        assert files.load(("int64",)) is None
        assert not planted.exists()
    path.write_bytes(cache.MAGIC + files._digest(("int64",), bomb) + bomb)
    files.load(("int64",))
    assert (
        planted.exists()
    )  # the bomb is one: only who may write to the folder, which is checked, can make a head for it


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_code_of_other_sources_is_not_taken(tmp_path):
    """A file that was moved from the folder of older sources: the same function, the same
    signature, other numbers."""
    old, new = (
        cache.SignatureFiles(tmp_path / sources / "file", "f") for sources in ("old", "new")
    )
    for files in (old, new):
        files.folder.mkdir(parents=True)
    old.save(("int64",), "old code")
    shutil.copy(old._path(("int64",)), new._path(("int64",)))
    assert old.load(("int64",)) == "old code"
    assert new.load(("int64",)) is None


def test_unfinished_files_of_killed_processes_are_swept(tmp_path):
    files = cache.SignatureFiles(tmp_path, "f")
    old, young = tmp_path / "f.1234.abcd", tmp_path / "f.1234.efgh"
    for path, hours in ((old, 25), (young, 1)):
        path.write_bytes(b"half")
        os.utime(path, (time.time() - 3600 * hours,) * 2)
    files.save(("int64",), "code")
    assert not old.exists() and young.exists() and files._path(("int64",)).exists()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="rights to folders are those of POSIX")
def test_a_folder_that_others_may_write_to_is_not_used(tmp_path):
    own, empty, shared, foreign = (
        tmp_path / name for name in ("own", "empty", "shared", "foreign")
    )
    for folder, mode in ((own, 0o755), (empty, 0o777), (shared, 0o777), (foreign, 0o775)):
        folder.mkdir()
        folder.chmod(mode)
    (shared / "planted.nbc").write_bytes(b"")
    (foreign / "planted.nbc").write_bytes(b"")
    assert cache.private(own) and cache.private(empty) and cache.private(tmp_path / "new")
    assert (empty.stat().st_mode & 0o777, (tmp_path / "new").stat().st_mode & 0o777) == (
        0o700,
        0o700,
    )
    for folder, mode in ((shared, 777), (foreign, 775)):
        with pytest.warns(
            RuntimeWarning,
            match=rf"not kept in '{folder}'.* mode {mode}\) can be "
            rf"written to by "
            rf"others.* "
            rf"TIGHTROPE_CACHE",
        ):
            assert not cache.private(folder)
    (shared / "inner").mkdir(mode=0o700)  # whose name anybody could give to a folder of theirs
    with pytest.warns(RuntimeWarning, match=rf"{shared}' \(owner"):
        assert not cache.private(shared / "inner")


def test_damaged_files_of_kernels_are_compiled_anew():
    """In a process of its own: of 300 flipped bits in machine code 48 crashed the interpreter, and
    two gave other numbers."""
    script = pathlib.Path(__file__).parents[1] / "benchmarks" / "kernel_files.py"
    done = subprocess.run(
        [sys.executable, str(script), "--damages", "240"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert "240 damaged files: 240 equal, 0 different, 0 errors, 0 crashes" in done.stdout
