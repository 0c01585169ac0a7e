"""What a session meets in notebooks, under signals and from callers' own code: it goes on, or
refuses in a sentence with nothing changed."""

import copy
import pickle
import subprocess
import sys
import textwrap
import tracemalloc
import warnings

import numpy as np
import pytest

import tightrope as tr
from tightrope.compiled.handle import Stream
from tightrope.session.agent import DECIDED, PROPOSED

POLICY = """
from typing import Any, NamedTuple
import numpy as np
from tightrope.extend import Policy, jit, policy, real

@policy("arms", paper="none"{more})
class Mine(Policy):
    "The arm with the largest (or smallest) sum."
    c: float = real(default=1.0)
    class State(NamedTuple):
        sums: Any
    def init(self, arms):
        return self.State(np.zeros(arms.number))
    @jit
    def select(self, state, context, rng):
        best = 0
        for k in range(state.sums.shape[0]):
            if {sign} * state.sums[k] > {sign} * state.sums[best]:
                best = k
        return best
    @jit
    def update(self, state, context, action, reward):
        state.sums[action] += reward
        return state
"""

CELLS = """
import linecache, sys
import tightrope as tr

def run_cell(text, number):
    name = f"<ipython-input-{number}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), sys.modules["__main__"].__dict__)

for number, text in enumerate(TEXTS):
    run_cell(text, number)
    session = tr.Session(Mine(), arms=4)
    for arm, reward in enumerate((3.0, 1.0, 5.0, -2.0)):
        session.update(arm, reward)
    result = tr.simulate(tr.problems.Bernoulli([0.1, 0.9, 0.5]), {"M": Mine()}, horizon=50, replications=1, seed=0, workers=1)
    print(session.select(), round(float(result.regret["M"][0, -1]), 1))
"""

MODULES = """
import sys
import tightrope as tr
for name in sys.argv[1:]:
    session = tr.Session(__import__(name).Mine(), arms=4)
    for arm, reward in enumerate((3.0, 1.0, 5.0, -2.0)):
        session.update(arm, reward)
    print(session.select())
"""


def run(code, *words, folder=None):
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split("\n")[:-1]


def test_a_definition_that_runs_again_is_the_new_one():
    first, edited = (POLICY.format(sign=sign, more="") for sign in ("1.0", "-1.0"))
    told = run(f"TEXTS = {[first, first, edited]!r}\n{CELLS}")
    assert told[0] == told[1]
    assert told[0].split()[0] == "2"
    assert told[2].split()[0] == "3"
    assert told[2].split()[1] != told[0].split()[1]


def test_two_classes_of_one_name_play_each_its_own_rule(tmp_path):
    for name, sign in (("mod_a", "1.0"), ("mod_b", "-1.0")):
        (tmp_path / f"{name}.py").write_text(POLICY.format(sign=sign, more=", public=False"))
    assert run(MODULES, "mod_a", "mod_b", folder=tmp_path) == ["2", "3"]
    assert run(MODULES, "mod_b", "mod_a", folder=tmp_path) == ["3", "2"]


def two_open():
    session = tr.Session(tr.LinUCB(), arms=2, dimension=2, seed=0)
    first, second = np.array([[1.0, 0.0], [0.0, 0.1]]), np.array([[0.0, 1.0], [0.1, 0.0]])
    session.decide(first, [True, False], id="a")
    session.decide(second, [True, False], id="b")
    session.reward(session.decide(first * 0.5, [True, False], id="c").id, 0.0)
    return session


def test_a_loaded_session_means_the_same_decision():
    for session in (two_open(), tr.Session.from_bytes(two_open().to_bytes())):
        with pytest.raises(ValueError, match="context is missing"):
            session.update(0, 1.0)
        session.update(0, 1.0, np.array([[0.3, 0.3], [0.0, 0.0]]))
        assert (session.rounds, len(session.open)) == (2, 2)


def test_a_loaded_session_remembers_that_rows_differed():
    rng = np.random.default_rng(0)
    session = tr.Session(tr.LinUCB(), arms=3, dimension=2, seed=0)
    session.reward(session.decide(rng.normal(size=(3, 2))).id, 0.5)
    for one in (session, tr.Session.from_bytes(session.to_bytes())):
        for _ in range(22):
            one.reward(one.decide(np.ones((3, 2))).id, 0.5)


@pytest.mark.parametrize("policy", [tr.LinUCB(), tr.LinUCB(forget=0.9)], ids=["stays", "fades"])
def test_rows_that_are_always_equal_are_refused_in_words_about_rows(policy):
    session = tr.Session(policy, arms=3, dimension=2, seed=0)
    for _ in range(20):
        session.reward(session.decide(np.ones((3, 2))).id, 0.5)
    with pytest.raises(ValueError, match="same row"):
        session.decide(np.ones((3, 2)))
    assert session.follow(0, "logged", np.ones((3, 2))) in (True, False)  # a log was accepted once


@pytest.mark.parametrize(
    "policy",
    [tr.LinUCB(), tr.LinTS(), tr.SquareCB(), tr.LinUCB(shared=False)],
    ids=lambda p: type(p).__name__,
)
def test_a_huge_feature_is_refused_with_nothing_changed(policy):
    session = tr.Session(policy, arms=3, dimension=2, seed=0)
    normal = np.array([[0.5, 1.0], [1.0, 0.0], [0.2, 0.3]])
    session.reward(session.decide(normal).id, 0.5)
    before = session.to_bytes()
    with pytest.raises(ValueError, match="is too large"):
        session.decide(np.array([[1e160, 1.0], [1e160, 1.0], [1e160, 0.5]]))
    assert session.to_bytes() == before


def test_a_guarantee_refuses_one_row_for_all_arms():
    safe = {"baseline": 0, "baseline_mean": 0.5, "alpha": 0.3, "sigma": 0.1, "arm_bound": 2.0}
    for policy in (tr.CLUCB2(**safe), tr.Safe(tr.LinUCB(), **safe)):
        session = tr.Session(policy, arms=4, dimension=2, seed=0)
        with pytest.raises(ValueError, match="guarantee rests on one regression"):
            session.decide([1.0, 0.5])
        assert session.decide(np.eye(4)[:, :2]).arm == 0


@pytest.mark.parametrize("what", ["rewards", "cancels"])
def test_a_reward_that_calls_back(what):
    session = tr.Session(tr.UCB(), arms=1)

    class Value:
        def __float__(self):
            if what == "rewards":
                session.reward("a", 1.0)
            else:
                session.cancel("a")
            return 0.5

    session.decide(id="a")
    with pytest.raises(ValueError, match=r"id = 'a'|was rewarded"):
        session.reward("a", Value())
    assert session.rounds == session.state.pulls[0] == (what == "rewards")


def test_a_chance_that_changes_the_session_ends_the_decision():
    session = tr.Session(tr.UCB(), arms=5)
    with pytest.raises(ValueError, match="changed while it decided"):
        session.decide_beside(0, lambda arm, p: (session.add_arms(number=1), p)[1], id="b")
    session.update(5, 1.0)
    assert session.state.pulls.tolist() == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("kind", [np.random.Philox, np.random.SFC64, np.random.MT19937])
def test_a_handle_reads_the_memory_of_pcg64_alone(kind):
    with pytest.raises(ValueError, match="draws from"):
        Stream(np.random.Generator(kind(1)))


REVERSED = """
from typing import Any, NamedTuple
import numpy as np
from tightrope.extend import Policy, jit, policy

@policy("arms", paper="none")
class Reversed(Policy):
    "Counts through a reversed view."
    class State(NamedTuple):
        pulls: Any
    def init(self, arms):
        return self.State(np.zeros(arms.number)[::-1])
    @jit
    def select(self, state, context, rng):
        return state.pulls[1] < state.pulls[0]
    @jit
    def update(self, state, context, action, reward):
        state.pulls[action] += 1.0
        return state
"""


def test_a_state_that_runs_backwards_and_a_choice_that_is_a_comparison(tmp_path):
    (tmp_path / "backwards.py").write_text(REVERSED)
    code = """
        import backwards, tightrope as tr
        session = tr.Session(backwards.Reversed(), arms=4)
        made = [session.decide().arm for _ in range(2) if session.update(session.select(), 1.0) is None]
        again = tr.Session.from_bytes(session.to_bytes())
        print(made, type(made[0]).__name__, again.state.pulls.tolist() == session.state.pulls.tolist())
    """
    assert run(textwrap.dedent(code), folder=tmp_path) == ["[1, 0] int True"]


CANNOT = {
    "id with a lone surrogate": lambda s: s.decide(id="user-\ud800"),
    "id of 5,001 digits": lambda s: s.decide(id=10**5000),
    "id of the session's own kind": lambda s: s.decide(id="#7"),
    "follow a list": lambda s: s.follow([2], "a"),
    "follow True": lambda s: s.follow(True, "a"),
    "follow None": lambda s: s.follow(None, "a"),
    "follow with a propensity of 7": lambda s: s.follow(0, "a", propensity=7.0),
    "beside True": lambda s: s.decide_beside(True, lambda arm, p: p, id="a"),
    "beside with a chance of 1.5": lambda s: s.decide_beside(2, lambda arm, p: 1.5, id="a"),
    "expire 5": lambda s: s.expire(ids=5),
    "expire a list of lists": lambda s: s.expire(ids=[["a"]]),
    "is_open a list": lambda s: s.is_open(["a"]),
    "explain arm 2": lambda s: s.explain(arms=2),
    "learn with features 5": lambda s: s.learn({"arm": [0], "reward": [1.0]}, features=5),
    "learn with a baseline too large": lambda s: s.learn(
        {"arm": [0], "reward": [1.0]}, baseline=2**64
    ),
    "save 5": lambda s: s.save(5),
    "load None": lambda s: tr.Session.load(None),
    "from text": lambda s: tr.Session.from_bytes("text"),
    "add too many arms": lambda s: s.add_arms(number=10**13),
    "add far too many arms": lambda s: s.add_arms(number=10**400),
    "add an oracle": lambda s: s.add_arms(number=1, oracle=tr.oracles.TopK(2)),
    "masked arms": lambda s: s.decide(
        eligible=np.ma.array([True] * 5, mask=[True, False, False, False, False])
    ),
}


@pytest.mark.parametrize("case", CANNOT)
@pytest.mark.parametrize(
    "policy",
    [tr.UCB(), tr.Safe(tr.BetaThompson(), baseline=0, baseline_mean=0.4, alpha=0.3, sigma=0.3)],
    ids=["UCB", "Safe"],
)
def test_what_cannot_be_is_a_sentence_and_changes_nothing(policy, case):
    session = tr.Session(policy, arms=5, default_reward=0.0)
    session.reward(session.decide().id, 0.5)
    before = session.to_bytes()
    with pytest.raises(ValueError, match=r"^[^\n]{20,}\.$"):
        CANNOT[case](session)
    twin = tr.Session.from_bytes(before)
    assert (session.decided, session.open, session.arms.number) == (1, {}, 5)
    for k in range(3):
        a, b = session.decide(id=k), twin.decide(id=k)
        assert (a.arm, a.propensity, a.propensity_se) == (b.arm, b.propensity, b.propensity_se)
    assert session._agent.rng.bit_generator.state == twin._agent.rng.bit_generator.state


def test_an_arm_of_a_log_may_be_numpys():
    session = tr.Session(tr.UCB(), arms=5)
    session.follow(np.int64(2), "a")
    assert session.decide_beside(np.int64(3), lambda arm, p: p, id="b")[0].arm == 3
    assert tr.Session.from_bytes(session.to_bytes()).open["a"].arm == 2


def test_sets_grow_with_an_oracle_only():
    session = tr.Session(tr.C2UCB(), arms=np.eye(3), oracle=tr.oracles.TopK(2))
    with pytest.raises(ValueError, match="oracle = 5 is not callable"):
        session.add_arms(features=np.eye(3)[:1], oracle=5)
    assert session.arms.number == 3


@pytest.mark.parametrize(
    "way",
    [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_copy_goes_on_by_itself(way):
    session = tr.Session(tr.LinTS(), arms=np.eye(3), seed=4)
    session.decide(id="open")
    other = way(session)
    choices = [other.select() for _ in range(5)]
    assert (session.decided, other.decided) == (1, 6)
    assert choices == [session.select() for _ in range(5)]


def test_what_select_made_counts_as_open():
    a, b = tr.Session(tr.UCB(), arms=2), tr.Session(tr.UCB(), arms=2)
    b.select()
    with pytest.raises(ValueError, match="other has 1 open decisions"):
        a.merge(b)


def test_a_restored_arm_leaves_the_fast_path_open():
    session = tr.Session(tr.UCB(), arms=2)
    session.add_arms(number=1)
    session.retire(0)
    session.restore(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(1100):
            session.select()
    assert (session.played, len(session.open)) == (1100, 0)


@pytest.mark.parametrize(
    "policy", [tr.UCB(), tr.LinUCB(), tr.LinTS(), tr.SoftUCB()], ids=lambda p: type(p).__name__
)
def test_policies_over_fixed_arms_only_count_the_decisions_of_select(policy):
    session = tr.Session(policy, arms=3 if isinstance(policy, tr.UCB) else np.eye(3), seed=1)
    arms = [session.select() for _ in range(4)]
    assert (session.played, session.decided, len(session.open)) == (4, 4, 0)
    for arm in arms:
        session.update(arm, 0.5)
    assert session.rounds == 4
    assert session._agent.counts[PROPOSED] == session._agent.counts[DECIDED]


def test_one_context_for_all_arms_costs_no_square_of_their_number():
    """Failed before: the arms' deviations were a dense (K, K) diagonal, 288 MB here."""
    session = tr.Session(tr.LinTS(), arms=6000, dimension=4, seed=0)
    row = np.array([0.5, -0.2, 0.1, 1.0])
    session.reward(session.decide(row).id, 0.5)
    tracemalloc.start()
    session.decide(row)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
