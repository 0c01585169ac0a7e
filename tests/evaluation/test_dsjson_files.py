"""Files of dsjson as services write them: names wherever they stand, decisions that were never
shown, lists that are none."""

import json

import numpy as np
import pytest

import tightrope as tr

BASE = {"_label_cost": -1, "_label_probability": 0.5, "_label_Action": 1, "_labelIndex": 0}


def written(path, lines):
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


def line(action, reward, names, *, chances=None, name=lambda each: {"_tag": each}, **more):
    n = len(names)
    listed = [action, *(k for k in range(1, n + 1) if k != action)]
    c = {"_multi": [name(each) for each in names]}
    return (
        BASE
        | {
            "_label_cost": -reward,
            "_label_Action": action,
            "_label_probability": 1 / n,
            "a": listed,
            "p": [1 / n] * n,
            "c": c,
        }
        | more
    )


@pytest.mark.parametrize("mark", [{"_skipLearn": True}, {"_deferred": True}])
def test_decisions_that_were_never_shown_are_left_out_and_counted(tmp_path, mark):
    lines = [BASE | {"EventId": str(i)} | (mark if i % 3 else {}) for i in range(9)]
    log = tr.logs.from_dsjson(written(tmp_path / "a.dsjson", lines), arms=2)
    assert (log.n, dict(log.left_out)) == (3, {"decisions that were never shown": 6})
    assert len(tr.logs.dsjson_rows(tmp_path / "a.dsjson")) == 3
    shown = [
        {"EventId": "1", "ActionTaken": True},
        {"EventId": "2", "RewardValue": 0.5, "ActionTaken": True},
        {"EventId": "4", "RewardValue": 0.5},
    ]
    log = tr.logs.from_dsjson(written(tmp_path / "a.dsjson", lines + shown), arms=2)
    assert log.n == (5 if "_deferred" in mark else 3)
    with pytest.raises(
        ValueError, match=r"no decision with a reward that was shown \(1 were not\)"
    ):
        tr.logs.from_dsjson(written(tmp_path / "a.dsjson", [{"_skipLearn": True, "EventId": "a"}]))


@pytest.mark.parametrize(
    "name",
    [
        lambda each: {"_tag": each, "i": {"id": "other"}},
        lambda each: {"id": each, "j": {"price": 1}},
        lambda each: {"i": {"constant": 1, "id": each}, "j": [{"x": 1}]},
    ],
)
def test_an_arm_is_its_name_wherever_it_stands(tmp_path, name):
    rng, lines, rewards = np.random.default_rng(0), [], {"tea": [], "cake": [], "rum": []}
    for _ in range(300):
        names = rng.permutation(["tea", "cake", "rum"]).tolist()
        action, reward = int(rng.integers(1, 4)), float(rng.integers(0, 2))
        rewards[names[action - 1]].append(reward)
        lines.append(line(action, reward, names, name=name))
    log = tr.logs.from_dsjson(written(tmp_path / "a.dsjson", lines))
    assert log.names == ("cake", "rum", "tea")
    for each, got in rewards.items():
        assert tr.evaluate(log, each, estimator="snips", model=None).value == pytest.approx(
            np.mean(got)
        )
    chosen = tr.logs.from_dsjson(tmp_path / "a.dsjson", arms=["tea", "cake", "rum", "gin"])
    assert chosen.names == ("tea", "cake", "rum", "gin")
    with pytest.raises(ValueError, match=r"line 1: action '(rum|cake)' is not among arms"):
        tr.logs.from_dsjson(tmp_path / "a.dsjson", arms=["tea"])


def test_features_of_actions_go_with_their_names(tmp_path):
    lines = [
        line(1, 0.0, names, name=lambda each: {"_tag": each, "price": len(each)})
        for names in (["a", "bbb"], ["bbb", "a"])
    ]
    path = written(tmp_path / "a.dsjson", lines)
    rows = tr.Encoder({"price": "number"}).fit(tr.logs.dsjson_rows(path))
    (chunk,) = tr.logs.from_dsjson(path, encoder=rows).chunks()
    assert chunk.arm.tolist() == [0, 1]
    assert np.array_equal(chunk.features[0], chunk.features[1])
    assert chunk.features[0, 0, 0] < chunk.features[0, 1, 0]


def test_candidates_that_change_are_eligible_by_name(tmp_path):
    lines = [line(1, 1.0, ["a", "b"]), line(2, 0.0, ["c", "a"])]
    (chunk,) = tr.logs.from_dsjson(written(tmp_path / "a.dsjson", lines)).chunks()
    assert chunk.arm.tolist() == [0, 0]
    assert chunk.eligible.tolist() == [[True, True, False], [True, False, True]]
    assert chunk.probabilities.tolist() == [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]


@pytest.mark.parametrize(
    "names", [["tea", "cake"], ["b", "a", "c"], [10, 12], [0, 1, 2], ["012", "1e3", "NO"], [7, 3]]
)
@pytest.mark.parametrize("more", [{}, {"probabilities": True}, {"features": True}])
def test_what_is_written_is_read_back_with_its_names(tmp_path, names, more, rng):
    K, n = len(names), 30
    table = {
        "arm": [names[k] for k in rng.integers(0, K, n)],
        "reward": rng.random(n),
        "propensity": np.full(n, 1 / K),
    }
    options = {"probabilities": np.full((n, K), 1 / K)} if "probabilities" in more else {}
    options |= {"features": rng.normal(size=(n, 2))} if "features" in more else {}
    log = tr.logs.from_frame(table, arms=names, **options)
    again = tr.logs.from_dsjson(
        tr.logs.to_dsjson(log, tmp_path / "a.dsjson"), arms=None if log.names or more else K
    )
    assert again.names == log.names
    for name in names:
        assert tr.evaluate(again, name, model=None).value == pytest.approx(
            tr.evaluate(log, name, model=None).value
        )


@pytest.mark.parametrize(
    ("words", "change"),
    [
        (
            "a = .* whole numbers from 1, with _label_Action = 1 among them; if they count from 0",
            {"a": [0, 1], "p": [0.5, 0.5]},
        ),
        ("with _label_Action = 1 among them", {"a": [0], "p": [1.0]}),
        ("with _label_Action = 1 among them", {"a": [2, 3], "p": [0.5, 0.5]}),
        ("a begins with _label_Action - 1", {"a": [1, 2], "p": [0.5, 0.5], "_label_Action": 2}),
        (
            "a = .* must be different actions, whole numbers from 1",
            {"a": ["1", "2"], "p": [0.5, 0.5]},
        ),
        ("a = .* must be different actions", {"a": [1.0, 2.0], "p": [0.5, 0.5]}),
        ("a = .* must be different actions", {"a": [None, 1], "p": [0.5, 0.5]}),
        ("a = .* must be different actions", {"a": [1, 1], "p": [0.5, 0.5]}),
        ("a = .* must be different actions", {"a": [True, 2], "p": [0.5, 0.5]}),
        ("a = 1 must be a list", {"a": 1, "p": 1.0}),
        ("a = 1 must be a list", {"a": 1}),
        ("a = '12' must be a list", {"a": "12"}),
        ("p = 1.0 must be a list", {"a": [1], "p": 1.0}),
        ("p .*= 'half' is not a number", {"a": [1, 2], "p": ["half", "half"]}),
        ("p .*= None is not a number", {"a": [1, 2], "p": [None, 0.5]}),
        ("p .*= 1.5 is not", {"a": [1, 2], "p": [1.5, 0.5]}),
        ("a and p must be lists of the same length", {"p": [1.0]}),
        (
            "c._multi = None must be a list of the actions",
            {"a": [1, 2], "p": [0.5, 0.5], "c": {"_multi": None}},
        ),
        ("c._multi = .* must be a list of the actions", {"c": {"_multi": ["x"]}}),
        (
            "whole numbers from 1 to 1",
            {"a": [1, 2], "p": [0.5, 0.5], "c": {"_multi": [{"_tag": "a"}]}},
        ),
        ("two actions have the same name", {"c": {"_multi": [{"_tag": "a"}, {"_tag": "a"}]}}),
        ("_label_Action .*= 3 is not", {"_label_Action": 3, "c": {"_multi": [{}, {}]}}),
        ("_label_probability .*= 0 is not", {"_label_probability": 0}),
        ("_label_probability .*= 'x' is not", {"_label_probability": "x"}),
        ("CCB or slates, _outcomes", {"_outcomes": []}),
        ("CCB or slates, _slots", {"c": {"_multi": [{}], "_slots": [{}]}}),
        ("CATS, _label_ca", {"_label_ca": {"action": 1.5}}),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(tmp_path, words, change):
    lines = [{"EventId": "none", "RewardValue": 1.0}, BASE | change]
    with pytest.raises(ValueError, match=words) as caught:
        tr.logs.from_dsjson(written(tmp_path / "a.dsjson", lines))
    assert "line 2" in str(caught.value)


def test_a_name_that_changes_its_place_beside_nameless_actions_is_refused(tmp_path):
    lines = [
        BASE | {"c": {"_multi": [{"_tag": "a"}, {}]}},
        BASE | {"c": {"_multi": [{}, {"_tag": "a"}]}},
    ]
    with pytest.raises(ValueError, match="line 2: action 'a' was at another place before"):
        tr.logs.from_dsjson(written(tmp_path / "a.dsjson", lines))
