"""Policies and problems of one's own: checked, named once, run and benchmarked from the command
line, found by entry points."""

import os
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

import tightrope as tr
from tiers import thorough
from tightrope import extend
from tightrope.core import policy as names, registry
from tightrope.extend import (
    Context,
    choice,
    describe,
    jit,
    policy,
    preset,
    problem,
    real,
    scratch,
    vector,
)
from tightrope.testing import Broken, check_policy, check_problem, standard_problems

DOCS = pathlib.Path(__file__).parent.parent / "docs" / "how-to"
SPEC = """
problem: {kind: poisson, means: [2.0, 3.5, 3.0]}
policies: {MOSS: {policy: MOSS, horizon: 200}, UCB: {policy: UCB}}
horizon: 200
"""


def block(page, number=0):
    """A Python block of a how-to page."""
    return re.findall(
        r"```\{code-cell\} python\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL
    )[number]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the how-to pages tell one to write."""
    place = tmp_path_factory.mktemp("own")
    (place / "moss.py").write_text(block("write-a-policy.md"))
    (place / "poisson.py").write_text(block("write-a-problem.md"))
    (place / "spec.yaml").write_text(SPEC)
    return place


def command(folder, *words, **more):
    """The command line, in the folder."""
    environment = (
        os.environ
        | {"PYTHONPATH": os.pathsep.join(sys.path), "TIGHTROPE_CACHE": str(folder / "cache")}
        | more
    )
    words = (
        [sys.executable, "-m", "tightrope", *map(str, words)]
        if words[0] != "-c"
        else [sys.executable, *words]
    )
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_example_has_forty_lines_and_needs_nothing_else():
    code = [line for line in block("write-a-policy.md").splitlines() if line.strip()]
    assert len(code) <= 40
    imported = re.findall(r"^(?:from|import) (\S+)", "\n".join(code), flags=re.MULTILINE)
    assert set(imported) == {"math", "typing", "numpy", "tightrope.extend"}


def test_a_spec_runs_with_policies_and_problems_of_ones_own(folder):
    done = command(
        folder,
        "run",
        "spec.yaml",
        "--import",
        "moss",
        "--import",
        "poisson.py",
        "--out",
        "r",
        "--quiet",
    )
    assert done.returncode == 0, done.stderr
    assert "MOSS" in done.stdout
    assert command(folder, "policies", "MOSS", "--import", "moss").stdout.startswith(
        "MOSS: mean + sqrt"
    )


@thorough
def test_check_policy_and_check_problem_pass_and_a_second_process_compiles_nothing(folder):
    code = (
        "import moss, poisson\n"
        "from tightrope.simulation.loops import fixed_horizon\n"
        "from tightrope.testing import check_policy, check_problem\n"
        "check_policy(moss.MOSS())\n"
        "check_problem(poisson.Poisson([2.0, 3.5, 3.0]))\n"
        "print(sum(fixed_horizon.stats.cache_hits.values()), "
        "sum(fixed_horizon.stats.cache_misses.values()))"
    )
    first, second = (
        command(folder, "-c", code, PYTHONPATH=os.pathsep.join([str(folder), *sys.path]))
        for _ in range(2)
    )
    assert first.returncode == 0, first.stderr
    hits, misses = map(int, second.stdout.split())
    assert misses == 0
    assert hits >= 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "--import broken was not found"),
        (
            "import nothing_of_this_name",
            r"--import broken failed: ModuleNotFoundError: .* \(broken.py, line 1\)",
        ),
        (
            "x = 1\ny = x / 0",
            r"--import broken failed: ZeroDivisionError: division by zero \(broken.py, line 2\)",
        ),
        (
            "from tightrope.extend import policy\n@policy('arms', paper='')\nclass UCB: pass",
            "the name 'UCB' is taken by UCB in .*ucb.py; call",
        ),
    ],
)
def test_modules_that_cannot_be_imported_are_one_line(tmp_path, content, words):
    if content is not None:
        (tmp_path / "broken.py").write_text(content)
    done = command(tmp_path, "policies", "--import", "broken")
    assert done.returncode == 2
    assert re.search(words, done.stderr.strip())
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_file_that_hides_behind_a_module_of_its_name_is_refused(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "json.py").write_text("")
    done = command(tmp_path, "policies", "--import", "mine/json.py")
    assert done.returncode == 2
    assert re.search(
        "json.py cannot be imported beside the module 'json' of .*; call the file something else",
        done.stderr,
    )


def test_installed_packages_are_found_by_their_entry_points(folder, tmp_path):
    (tmp_path / "moss.py").write_text((folder / "moss.py").read_text())
    (tmp_path / "moss-1.0.dist-info").mkdir()
    (tmp_path / "moss-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: moss\nVersion: 1.0\n"
    )
    (tmp_path / "moss-1.0.dist-info" / "entry_points.txt").write_text(
        "[tightrope.policies]\nmoss = moss\nlost = no_such_module\n"
    )
    done = command(
        folder, "policies", "MOSS", PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path])
    )
    assert done.stdout.startswith("MOSS: mean + sqrt")
    assert (
        "no_such_module of the entry-point group tightrope.policies was not loaded" in done.stderr
    )


def test_every_verb_and_field_is_exported():
    assert set(extend.VERBS) <= set(extend.__all__)
    assert all(hasattr(extend, name) for name in extend.__all__)
    fields = {
        name
        for name in dir(extend)
        if getattr(getattr(extend, name), "__module__", "") == "tightrope.core.fields"
    }
    assert fields - {"Matrix", "Vector"} <= set(extend.__all__)


@pytest.fixture(autouse=True)
def _same_names_afterwards():
    """What a test registers is gone for the next one."""
    kept = [(known, dict(known)) for known in (names.REGISTRY, names.PROBLEMS, names.RECIPES)]
    yield
    for known, before in kept:
        known.clear()
        known.update(before)


# Names --------------------------------------------------------------------------------------------


def make(name, **members):
    """A policy class of this name."""
    verbs = {
        "init": lambda self, arms: None,
        "select": lambda self, state, context, rng: 0,
        "update": lambda self, state, context, action, reward: state,
    }
    fields = {key: float for key in members if key not in verbs}
    return policy("arms", paper="none")(
        type(name, (), verbs | {"__annotations__": fields, "__module__": __name__} | members)
    )


def test_a_second_policy_or_problem_of_a_name_is_refused_and_the_same_again_replaces():
    with pytest.raises(
        ValueError,
        match=r"the name 'UCB' is taken by UCB in .*ucb\.py; "
        r"call UCB in "
        r".*test_extend\.py "
        r"something else",
    ):
        make("UCB")
    assert registry.find("UCB") is tr.UCB
    first, second = make("Again"), make("Again", width=real(default=1.0))
    assert first is not second
    assert registry.find("Again") is second
    with pytest.raises(ValueError, match="the name 'bernoulli' is taken by Bernoulli"):
        world("Other", kind="bernoulli")


def test_fields_take_their_default_by_name():
    item = make(
        "Fields",
        mode=choice("a", "b", default="b"),
        width=real(default=2.0, above=0),
        needed=real(above=0),
    )
    with pytest.raises(TypeError, match="Fields needs needed"):
        item()
    assert tuple(item(needed=1.0)) == (1, 2.0, 1.0)
    assert repr(item(needed=1.0)) == "Fields(mode='b', width=2.0, needed=1.0)"
    with pytest.raises(ValueError, match="mode = 'c' is not one of 'a', 'b'"):
        item(needed=1.0, mode="c")
    with pytest.raises(TypeError, match="default = 'c' is not one of 'a', 'b'"):
        choice("a", "b", default="c")
    with pytest.raises(TypeError, match=r"Bad.width needs a field such as real\(default=1.0\)"):
        make("Bad", width=3.0)


# What is broken is found --------------------------------------------------------------------------


class Pulls(NamedTuple):
    pulls: np.ndarray


class Scratch(NamedTuple):
    pulls: np.ndarray
    best: np.ndarray


def broken(name, choose, learn=None, state=lambda arms: Pulls(np.zeros(arms.number))):
    """An instance of a policy with these kernels."""

    def plain(self, state, context, action, reward):
        state.pulls[action] += 1.0
        return state

    cls = make(
        name, init=lambda self, arms: state(arms), select=jit(choose), update=jit(learn or plain)
    )
    return cls()


def below(policy, state, context, rng):
    return -1


def beyond(policy, state, context, rng):
    return 7


def outside(policy, state, context, rng):
    return int(state.pulls[state.pulls.shape[0] + 2])


def deaf(policy, state, context, rng):
    return 0


def forgetful(policy, state, context, rng):
    return int(rng.random() * COUNTER[0]) % 3


def rounded(policy, state, context, rng):
    return 0


def sums(policy, state, context, action, reward):
    state.pulls[action] += np.sum(np.full(100, 0.1)) * np.exp(0.3)
    return state


COUNTER = [1.0]


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (
            lambda: broken("Below", below),
            "Below on Bernoulli: select returned arm -1, but arms are 0 to 4",
        ),
        (
            lambda: broken("Beyond", beyond),
            "Beyond on Bernoulli: select returned arm 7, but arms are 0 to 4",
        ),
        (
            lambda: broken("Outside", outside),
            r"Outside on Bernoulli failed: IndexError: index 7 "
            r"is out of "
            r"bounds .* "
            r"\(test_extend.py, "
            r"line \d+\)",
        ),
        (
            lambda: broken("Deaf", deaf),
            "Deaf on Bernoulli: select plays an arm that is not eligible",
        ),
        (lambda: broken("Rounded", rounded, sums), "differs between"),
    ],
)
def test_a_broken_policy_is_refused_with_the_reason(item, words):
    with pytest.raises(Broken, match=words) as caught:
        check_policy(
            item(),
            [
                tr.problems.Bernoulli([0.4])
                if "differs" in words
                else standard_problems()["bernoulli"]
            ],
        )
    assert "\n" not in str(caught.value)


def world(name, kind=None, **kernels):
    """An instance of a problem with two arms, of which these kernels are its own."""
    cls = problem(kind)(
        type(
            name,
            (),
            {
                "__annotations__": {"means": np.ndarray},
                "__module__": __name__,
                "means": vector(least=0.0, most=1.0),
                "play": lambda self, context, action, rng: self.means[action],
            }
            | kernels,
        )
    )
    return cls([0.2, 0.6])


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (
            lambda: world("Wrong", play=lambda problem, context, action, rng: 0.5),
            r"Wrong's rewards of arm 0 average 0.5 \(se 0\), but its mean says 0.2",
        ),
        (
            lambda: world(
                "Negative",
                regret=lambda problem, context, action: problem.means[action] - problem.best,
            ),
            "regret of arm 0 is -0.4",
        ),
        (
            lambda: world("Flat", regret=lambda problem, context, action: 0.0),
            "do not add up to the same best value",
        ),
        (
            lambda: world("Infinite", play=lambda problem, context, action, rng: np.inf),
            "not a finite number",
        ),
        (
            lambda: world(
                "Masked",
                observe=lambda problem, t, rng: Context(
                    None, np.zeros(2, dtype=np.bool_), None, None
                ),
            ),
            r"a mask of 2 entries of which 0 are eligible, but it needs 2 entries \(bool\) and at least "
            r"one eligible arm",
        ),
        (
            lambda: world("Range", describe=lambda self: extend.Arms(2, rewards=(0.0, 0.5))),
            r"returned rewards from 0.6 to 0.6, but arms says \(0.0, 0.5\)",
        ),
    ],
)
def test_a_broken_problem_is_refused_with_the_reason(item, words):
    with pytest.raises(Broken, match=words):
        check_problem(item())


def test_a_problem_that_writes_into_shared_arrays_is_found():
    @problem()
    class Shared:
        means: np.ndarray = vector()

        def observe(self, t, rng):
            self.means[0] += 0.1
            return Context(None, None, None, None)

        def play(self, context, action, rng):
            return self.means[action]

    with pytest.raises(
        Broken,
        match=r"observe writes into state.means, which all "
        r"replications share; "
        r"declare it as "
        r"scratch\(\)",
    ):
        check_problem(Shared([0.2, 5.0]))


def test_problems_declare_defaults_scratch_and_specs():
    @problem("declared")
    class Declared:
        """Arms that shift."""

        levels: np.ndarray = vector()
        means: np.ndarray = scratch()
        best: np.ndarray = scratch()

        @staticmethod
        def complete(given):
            return given | {
                "means": given["levels"].copy(),
                "best": np.array([given["levels"].max()]),
            }

        def play(self, context, action, rng):
            return self.means[action]

    made = Declared([0.1, 0.4])
    extend.private(made).means[0] = 9.0
    assert made.means[0] == 0.1
    assert extend.regret(made, None, 0) == pytest.approx(0.3)
    assert describe(made).number == 2
    assert set(names.RECIPES["declared"].parameters) == {"levels"}
    with pytest.raises(TypeError, match="Declared takes levels without a name"):
        Declared([0.1], 2)
    with pytest.raises(TypeError, match="Declared has no parameter 'level'; it takes levels"):
        Declared(level=[0.1])


@pytest.mark.parametrize(
    ("words", "members"),
    [
        (
            r"Odd\.selct is no verb of .*Did you mean 'select'\?|Odd\.selct is no verb",
            {"selct": lambda self, state, context, rng: 0},
        ),
        (
            r"Odd\.select takes \['state', 'context'\] after self, but must take "
            r"\['state', 'context', 'rng'\]",
            {"select": lambda self, state, context: 0},
        ),
        ("Odd needs the method update", {"update": None}),
    ],
)
def test_methods_are_verbs_and_nothing_else(words, members):
    with pytest.raises(TypeError, match=words):
        make("Odd", **members)
    assert "Odd" not in names.REGISTRY


def test_verbs_are_methods_in_plain_python():
    policy, rng = tr.UCB(), np.random.default_rng(0)
    state = policy.init(extend.Arms(3))
    arms = []
    for _ in range(3):
        arms.append(policy.select(state, Context(), rng))
        state = policy.commit(state, Context(), arms[-1])
        state = policy.update(state, Context(), arms[-1], 1.0)
    assert arms == [0, 1, 2]
    assert policy.reward_range() == (-np.inf, np.inf)
    assert policy.propensity(state, Context(), policy.select(state, Context(), rng), rng) == (
        1.0,
        0.0,
    )


def test_policies_of_two_classes_are_never_equal():
    one, other = tr.UCB(alpha=2.0, sigma=1.0, forget=1.0), tr.BetaThompson(a=2.0, b=1.0, forget=1.0)
    assert tuple(one) == tuple(other)
    assert one != other
    assert len({one: 1, other: 2}) == 2
    assert tr.LinUCB() == tr.LinUCB()
    assert hash(tr.LinUCB()) == hash(tr.LinUCB())
    assert tr.LinUCB() != tr.LinUCB(lam=2.0)
    assert tr.Safe(tr.UCB(), baseline=0, checkpoint=[2, 5]) == tr.Safe(
        tr.UCB(), baseline=0, checkpoint=[2, 5]
    )
    assert tr.problems.Bernoulli([0.1, 0.2]) != tr.problems.Bernoulli([0.1, 0.3])


def test_names_of_the_package_are_those_of_the_registry():
    assert {
        name for name, item in names.REGISTRY.items() if item.__module__.startswith("tightrope.")
    } <= set(tr.__all__)
    assert {
        name
        for name, item in names.PROBLEMS.items()
        if item.__module__.startswith("tightrope.problems")
    } <= set(tr.problems.__all__)


def test_a_preset_is_its_base_with_other_defaults():
    for made in (tr.CUCB, tr.CUCB2, tr.CUCB2T, tr.CLUCB, tr.CLUCB2, tr.CLUCB2T):
        assert issubclass(made, tr.Conservative)
        every = {"checkpoint": 1} if made in (tr.CUCB2T, tr.CLUCB2T) else {}
        assert isinstance(made(**every), tr.Conservative)
        assert made.FIELDS.keys() == tr.Conservative.FIELDS.keys()
        assert made(**every) == tr.Conservative(
            **{name: field.default for name, field in made.FIELDS.items()}
        )
    for made in (tr.CUCB2T, tr.CLUCB2T):
        with pytest.raises(
            ValueError,
            match=f"{made.__name__} needs checkpoint or min_gap, without which it is another "
            "policy; give checkpoint",
        ):
            made(baseline=0)
    assert tr.CUCB2(model="linear", clip="both") == tr.Conservative()
    assert tr.OFUL(delta=0.05) == tr.LinUCB(width="theorem", delta=0.05)


def test_a_preset_stands_on_a_policy_and_changes_its_parameters():
    with pytest.raises(
        TypeError, match="Bold has defaults for alfa, but UCB takes alpha, sigma, forget"
    ):

        @preset(alfa=9.0)
        class Bold(tr.UCB):
            """UCB with a wide index."""

    with pytest.raises(TypeError, match="Nothing stands on object, but must stand on a policy"):

        @preset()
        class Nothing:
            """No policy."""


def test_parameters_may_make_another_class():
    """Failed before: only by a `__new__` that type checkers must not see."""
    assert type(tr.Safe(tr.C2UCB(), baseline=[0, 1])) is tr.SafeSets
    assert type(tr.Safe(inner=tr.C2UCB(), baseline=[0, 1])) is tr.SafeSets
    assert type(tr.Safe(tr.UCB(), baseline=0)) is tr.Safe
    assert type(tr.SquareCB(model=None)) is tr.SquareCB
    assert type(tr.SquareCB(model=np.sum)) is not tr.SquareCB
    with pytest.raises(ValueError, match=r"lam = 2\.0 is for ridge regression"):
        tr.SquareCB(model=np.sum, lam=2.0)


def test_a_kernel_takes_arguments_by_name_and_defaults():
    """Failed before: a kernel called from Python took arguments by position only."""

    @jit
    def scaled(point, factor=2.0):
        return point.x * factor

    class Point(NamedTuple):
        x: float

    assert scaled(Point(3.0)) == 6.0
    assert scaled(point=Point(3.0), factor=5.0) == scaled(Point(3.0), factor=5.0) == 15.0


def test_checks_say_what_they_do(capsys):
    check_problem(tr.problems.Bernoulli([0.2, 0.5]), [tr.UCB()])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "check: uncompiled, every index checked: 1 runs in another process"
    assert lines[1].startswith("check: UCB on Bernoulli: compiled")
