"""What `help` and `dir` show of the public interface: numpydoc sections that name everything,
signatures that fit a screen, examples that run."""

import dataclasses
import doctest
import inspect
import itertools
import pydoc
import re
from typing import get_origin

import numpy as np
import pytest

import tightrope as tr
from tightrope.core.policy import base_of, is_policy_class
from tightrope.policies import examples
from tightrope.testing import standard_problems

MODULES = {
    "tr": tr,
    "logs": tr.logs,
    "problems": tr.problems,
    "problems.data": tr.problems.data,
    "delays": tr.delays,
    "stopping": tr.stopping,
    "oracles": tr.oracles,
}
ITEMS = {
    f"{place}.{name}": getattr(module, name)
    for place, module in MODULES.items()
    for name in module.__all__
    if not inspect.ismodule(getattr(module, name))
}
POLICIES = {name: item for name, item in ITEMS.items() if is_policy_class(item)}
OTHERS = {name: item for name, item in ITEMS.items() if name not in POLICIES}
FUNCTIONS = {name: item for name, item in OTHERS.items() if inspect.isfunction(item)}
IN_PARTS = {
    "tr.Decision",
    "problems.data.DataNotFound",
}  # not written yet; an exception without arguments of its own
# numpydoc's codes: no docstring, no summary, parameters without a word or a word without a
# parameter, no Returns, no Yields. The order of parameters and their types are not among them,
# because several that mean one thing together share a line.
CODES = {"GL08", "SS01", "SS04", "PR01", "PR02", "PR05", "PR06", "PR07", "RT01", "YD01"}
NOT_IN_SECTIONS = {  # by name, with the reason
    "tightrope.Decision": "its sections are not written yet",
    "tightrope.extend.Sampled": "made by kernels of policies, in a sentence",
    "tightrope.extend.VERBS": "a dict",
    "tightrope.extend.allowed": "a kernel, in a sentence",
    "tightrope.extend.value_or": "a kernel, in a sentence",
    "tightrope.extend.draw_reward": "a kernel, in a sentence",
    "tightrope.extend.jit": "a decorator of kernels, in sentences",
    "tightrope.extend.lean": "a decorator of kernels, in sentences",
    "tightrope.extend.returns_views": "a decorator of kernels, in sentences",
    "tightrope.extend.policy": "a decorator with two forms",
    "tightrope.extend.preset": "a decorator whose call takes what the section names",
    "tightrope.extend.delay": "a decorator that type checkers see in another form",
    "tightrope.extend.monitor": "a decorator that type checkers see in another form",
    "tightrope.extend.inner_policy": "a field, in a sentence",
    "tightrope.extend.reward_kind": "a field, in a sentence",
}
NOT_IN_SECTIONS |= dict.fromkeys(
    f"tightrope.extend.{name}"
    for name in [
        "ConfidenceSequence.add",
        "ConfidenceSequence.rounds",
        "NOISE",
        "POLICY",
        "PROBLEM",
        "State",
        "World",
        "accepts",
        "bounds_of",
        "build_oracle",
        "flatten",
        "interval",
        "is_policy",
        "label",
        "policy_from_spec",
        "policy_to_spec",
        "prepare",
        "standard_error",
        "stream",
        "to_horizon",
        "with_error",
    ]
)  # for reproductions and services, in a sentence
SCREEN = 60, 700  # lines of help, characters of a signature


def sections(item):
    """A docstring's sections by name; the text before the first is ''."""
    parts = re.split(r"^(\w+)\n-{3,}$\n", inspect.getdoc(item) or "", flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def named(text):
    """Names that a section explains: `a : type` or `a, b : type`, `*` for those of a group without
    a type."""
    lines = [line.split(" : ")[0] for line in text.splitlines() if line and not line[0].isspace()]
    return {name.strip().lstrip("*") for line in lines for name in line.split(",")}


def taken(item):
    """Names that a docstring must explain."""
    if hasattr(item, "FIELDS"):
        return {*item.FIELDS}
    if dataclasses.is_dataclass(item):
        return {field.name for field in dataclasses.fields(item) if not field.name.startswith("_")}
    if inspect.isclass(item) and hasattr(item, "_fields"):
        return {*item._fields}
    return {name for name in inspect.signature(item).parameters if name not in ("args", "kwargs")}


@pytest.mark.parametrize("name", sorted(set(OTHERS) - IN_PARTS))
def test_sections_name_every_parameter_and_attribute(name):
    item = OTHERS[name]
    said = sections(item)
    explained = named(said.get("Parameters", "")) | named(said.get("Attributes", ""))
    assert taken(item) <= explained, f"{name} does not explain {sorted(taken(item) - explained)}"
    assert said[""].strip().split("\n\n")[0].endswith("."), "a purpose in one paragraph"
    for section in ("Parameters", "Attributes"):
        lines = [line for line in said.get(section, "").splitlines() if line.strip()]
        empty = [
            line
            for line, after in itertools.pairwise([*lines, ""])
            if not line[0].isspace() and not after.startswith("    ")
        ]
        assert empty == [], f"{name} leaves {empty} unexplained"


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_say_what_they_return_and_raise(name):
    said = sections(FUNCTIONS[name])
    returns = inspect.signature(FUNCTIONS[name]).return_annotation
    assert "Returns" in said or returns in (None, "None")
    pure = {
        "problems.spread_arms",
        "problems.data.find",
        "logs.to_obp",
    }  # take anything that their callers have checked
    assert "Raises" in said or name in pure


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_policies_explain_every_parameter(name):
    item = POLICIES[name]
    base = base_of(item)
    text = " ".join(inspect.getdoc(cls) or "" for cls in (item, *base.__mro__) if cls is not object)
    assert [field for field in base.FIELDS if not re.search(rf"\b{field}\b", text)] == []


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_help_fits_a_screen(name):
    shown, signature = (
        pydoc.plain(pydoc.render_doc(FUNCTIONS[name])),
        str(inspect.signature(FUNCTIONS[name])),
    )
    assert len(shown.splitlines()) <= SCREEN[0]
    assert len(signature) <= SCREEN[1]
    assert "_array_like" not in signature, (
        "NumPy's types are spelled out; `from __future__ import annotations` leaves their names"
    )


LINE = 200  # characters of a line of a repr


def instances(folder):
    """One of every public class by its name, with more arms or rows than fit a line where it holds
    arrays."""
    session = tr.Session(tr.Explore(tr.KLUCB(), floor=0.1), arms=["red", "green"], seed=0)
    first = session.decide(id="visitor 17")
    for _ in range(20):
        made = session.decide()
        session.reward(made.id, float(made.arm))
    log = tr.logs.from_session(session, floor=0.1)
    result = tr.simulate(
        tr.problems.Bernoulli([0.2, 0.5]),
        {"UCB": tr.UCB(), "KL-UCB": tr.KLUCB()},
        horizon=50,
        replications=8,
    )
    linear = tr.problems.Linear(np.eye(2), [0.1, 0.9])
    many = np.linspace(0.1, 0.9, 20)
    oracles = {
        "TopK": tr.oracles.TopK(3),
        "Knapsack": tr.oracles.Knapsack(costs=many, budget=3.0),
        "Promotions": tr.oracles.Promotions(k=[1] * 30),
        "Partition": tr.oracles.Partition(categories=["a", "b"] * 20, limit=2, k=3),
        "Path": tr.oracles.Path(np.arange(30), np.arange(1, 31), source=0, target=30),
        "SpanningTree": tr.oracles.SpanningTree(u=np.arange(30), v=np.arange(1, 31)),
        "Matching": tr.oracles.Matching(left=np.arange(30), right=np.arange(30)),
    }
    return {
        "tr.Budget": tr.Budget(baseline=0, alpha=0.1),
        "tr.Comparison": tr.compare(log, {"red": "red", "green": "green"}),
        "tr.ConservativeLowerBound": tr.conservative_lower_bound(
            "arms", 10, alpha=0.05, baseline_mean=0.5, gap=0.1, horizon=100
        ),
        "tr.Context": tr.Context(np.eye(9)),
        "tr.Decision": first,
        "tr.Encoder": tr.Encoder().fit({"age": [1, 2], "country": ["de", "fr"]}),
        "tr.Evaluation": tr.evaluate(log, "red"),
        "tr.Identification": tr.identify(linear, tr.LinGapE(), budget=20, replications=2),
        "tr.Interrupted": tr.Interrupted(result),
        "tr.Journal": tr.Journal(folder / "visits.journal", session),
        "tr.LeastLipschitz": tr.least_lipschitz([0, 1, 2], means=[0.1, 0.2, 0.15]),
        "tr.LowerBound": tr.lipschitz_lower_bound(many, points=many, lipschitz=1.0),
        "tr.PairedComparison": result.compare(),
        "tr.Plan": tr.plan([0.1, 0.9], epsilon=0.2, delta=0.1, replications=2),
        "tr.Promise": tr.Promise("conversion", alpha=0.02, segment="each"),
        "tr.Result": result,
        "tr.Scaled": tr.scale(np.arange(60.0).reshape(20, 3)),
        "tr.Session": session,
        "tr.TrainedBeta": tr.train_softucb(linear, 20, trajectories=2),
        "logs.Log": log,
        "stopping.Ranking": tr.stopping.Ranking(),
        "delays.Batched": tr.delays.Batched(3),
        "delays.ByReward": tr.delays.ByReward(early=1, late=3),
        "delays.Fixed": tr.delays.Fixed(3),
        "delays.Geometric": tr.delays.Geometric(3),
        "oracles.Assignment": tr.oracles.Promotions(promotions=3, k=2).solve(np.eye(30, 3)),
        **{f"oracles.{name}": oracle for name, oracle in oracles.items()},
    }


def is_problem_class(item):
    return issubclass(item, tr.extend.Problem)


def test_repr_says_in_a_line_what_an_object_is_and_in_two_more_how_it_is_going(tmp_path):
    shown = instances(tmp_path)
    classes = {
        name
        for name, item in OTHERS.items()
        if inspect.isclass(item) and not is_problem_class(item)
    }
    assert set(shown) == classes - {
        "problems.data.DataNotFound",
        "problems.data.OpenBandit",
    }  # an exception; made from files
    shown |= {
        f"{name} as policy": policy
        for problem in standard_problems().values()
        for name, policy in examples(problem).items()
    }
    shown |= {f"{name} as problem": problem for name, problem in standard_problems().items()}
    for name, item in shown.items():
        text, cls = repr(item), type(item).__name__
        going = (
            "\n leader: .+\n next: .+"
            if name in ("tr.Session", "tr.Result", "tr.Identification")
            else ""
        )
        assert re.fullmatch(rf"({cls}\(|<{cls}: ).*{going}", text) and " at 0x" not in text, (
            f"{name}: {text}"
        )
        assert (
            max(map(len, text.splitlines())) <= LINE
            or tr.extend.Policy in type(item).__mro__  # which names every parameter
        ), f"{name}: {text}"


@pytest.mark.parametrize("name", sorted(MODULES))
def test_dir_lists_what_is_public(name):
    module = MODULES[name]
    assert {*module.__all__} <= {*dir(module)}
    if name not in ("tr", "problems.data"):
        assert [item for item in dir(module) if item not in module.__all__] == []


def test_examples_run():
    """All examples of public functions and classes, so that none of them is out of date."""
    finder, runner = (
        doctest.DocTestFinder(recurse=False),
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE),
    )
    examples = 0
    with np.printoptions(legacy=False):
        methods = {
            f"Session.{name}": item
            for name, item in own_members(tr.Session).items()
            if inspect.isfunction(item)
        }
        for name, item in {**OTHERS, **methods, "extend.Kind": tr.extend.Kind}.items():
            for test in finder.find(item, name, globs={}):
                runner.run(test, clear_globs=False)
                examples += len(test.examples)
    assert runner.failures == 0
    assert examples >= 65


def checked_objects():
    """Full names of all that numpydoc judges: what is public, and the methods of its classes."""
    names = ["tightrope.testing.check_policy", "tightrope.testing.check_problem"]
    for place, module in {**MODULES, "extend": tr.extend}.items():
        full = "tightrope" if place == "tr" else f"tightrope.{place}"
        for name in module.__all__:
            item = getattr(module, name)
            verb = place == "extend" and name in tr.extend.VERBS
            kind = get_origin(item) is not None  # of a state's field: an annotated type
            if inspect.ismodule(item) or is_policy_class(item) or verb or kind:
                continue
            names.append(f"{full}.{name}")
            if inspect.isclass(item):
                members = {
                    key: value
                    for key, value in own_members(item).items()
                    if not key.startswith("_") and key not in VERBS
                }
                names += [
                    f"{full}.{name}.{key}"
                    for key, value in members.items()
                    if inspect.isfunction(value) or is_member(value)
                ]
    return names


def own_members(item):
    """What a class has of its own and from bases of this package, by name."""
    bases = [
        base for base in reversed(item.__mro__) if base.__module__.split(".")[0] == "tightrope"
    ]
    return {key: value for base in bases for key, value in vars(base).items()}


VERBS = {
    *tr.extend.VERBS,
    "lateness",
    "longest",
}  # explained where the base class has them: one text for all that answer


def is_member(value):
    return isinstance(value, property | classmethod | staticmethod)


def breaches(name):
    """Numpydoc's complaints about an object that count here."""
    from numpydoc.validate import validate

    judged = validate(name)
    first = judged["docstring"].split("\n")[0]
    if re.match(r"As `Session\.\w+`", first):  # of a journal: the arguments are said there
        return []
    fields = (
        "Attributes\n---" in judged["docstring"]
    )  # its parameters; another test looks for every one
    return [
        (code, message)
        for code, message in judged["errors"]
        if code in CODES and not (fields and code == "PR01")
    ]


def test_numpydoc_finds_every_section():
    """As `numpydoc validate` would, of every public function, class and method but for those named
    above."""
    names = checked_objects()
    found = {name: breaches(name) for name in names if name not in NOT_IN_SECTIONS}
    assert {name: errors for name, errors in found.items() if errors} == {}
    assert len(found) > 180


def test_exceptions_are_still_needed():
    assert set(checked_objects()) >= set(NOT_IN_SECTIONS)
    needless = {
        name for name in NOT_IN_SECTIONS if name != "tightrope.extend.VERBS" and not breaches(name)
    }
    assert needless == set()


def test_a_parameter_without_a_word_is_noticed():
    def silent(given, missing):
        """Do nothing.

        Parameters
        ----------
        given : int
            A number.
        """

    assert taken(silent) - named(sections(silent)["Parameters"]) == {"missing"}
