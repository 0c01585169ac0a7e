"""`Encoder` and `Session(encoder=)`: rows as people have them, in every call that describes a
round."""

import copy
import datetime
import pickle

import numpy as np
import pandas as pd
import pytest

import tightrope as tr
from session import signalled

TABLE = {
    "country": ["de", "fr", "de", "it", None, "de"],
    "age": [20.0, 30.0, 40.0, np.nan, 50.0, 60.0],
    "device": ["phone", "desk", "phone", "phone", "desk", "desk"],
    "when": pd.to_datetime(
        [
            "2026-01-05 00:00",
            "2026-01-05 06:00",
            "2026-01-06 12:00",
            "2026-01-07 18:00",
            "2026-01-08 00:00",
            "2026-01-11 12:00",
        ]
    ),
}
KINDS = {"country": "category", "age": "number", "device": "category", "when": "time"}


@pytest.fixture(scope="module")
def fitted():
    return tr.Encoder(KINDS, cross=[("country", "device")]).fit(TABLE)


def row(**changes):
    return {
        "country": "de",
        "age": 40.0,
        "device": "phone",
        "when": datetime.datetime(2026, 1, 5, 6),
    } | changes


def test_features_are_what_their_names_say(fitted):
    told = dict(zip(fitted.names, fitted.transform(row()), strict=True))
    assert len(told) == fitted.dimension == 4 + 1 + 2 + 3 + 4 + 5 + 1
    assert (
        told["country = de"]
        == told["device = phone"]
        == told["country & device = de & phone"]
        == 1.0
    )
    assert told["age"] == pytest.approx(0.0) and told["age is missing"] == 0.0
    assert (told["when, sine of day"], told["when, cosine of day"]) == pytest.approx((1.0, 0.0))
    assert (told["when, sine of week"], told["when, cosine of week"]) == pytest.approx(
        (np.sin(2 * np.pi / 28), np.cos(2 * np.pi / 28))
    )  # a quarter of Monday
    other = dict(zip(fitted.names, fitted.transform(row(country="xx", age=None)), strict=True))
    assert (
        other["country is another"]
        == other["country & device is another"]
        == other["age is missing"]
        == 1.0
        and other["age"] == 0.0
    )
    gone = dict(zip(fitted.names, fitted.transform(row(country=None, when=None)), strict=True))
    assert gone["country is missing"] == gone["country & device is missing"] == 1.0
    assert not any(value for name, value in gone.items() if name.startswith("when"))
    ages = np.array([20.0, 30.0, 40.0, 50.0, 60.0])
    assert dict(zip(fitted.names, fitted.transform(row(age=20.0)), strict=True))[
        "age"
    ] == pytest.approx(-20.0 / ages.std())


@pytest.mark.parametrize("form", ["dict", "rows", "pandas", "arrow", "polars"])
def test_a_table_has_the_features_of_its_rows(fitted, form):
    rows = [{name: values[i] for name, values in TABLE.items()} for i in range(6)]
    frame = pd.DataFrame(TABLE)
    table = {
        "dict": lambda: TABLE,
        "rows": lambda: rows,
        "pandas": lambda: frame,
        "arrow": lambda: pytest.importorskip("pyarrow").Table.from_pandas(frame),
        "polars": lambda: pytest.importorskip("polars").from_pandas(frame),
    }[form]()
    features = fitted.transform(table)
    assert features.shape == (6, fitted.dimension)
    for i, one in enumerate(rows):
        np.testing.assert_array_equal(features[i], fitted.transform(one))


def test_kinds_are_found_and_levels_are_the_most_frequent():
    found = tr.Encoder(levels=1).fit(TABLE)
    assert repr(found).startswith(
        "<Encoder: country (category), age (number), device (category), when (time) ->"
    )
    assert found.names[:3] == ("country = de", "country is another", "country is missing")
    codes = tr.Encoder({"code": "category"}).fit({"code": [1, 2, 2]})
    np.testing.assert_array_equal(codes.transform({"code": "2"}), codes.transform({"code": 2.0}))


def test_an_open_vocabulary_has_fixed_columns():
    found = tr.Encoder({"word": "hashed"}, buckets=8, intercept=True).fit({"word": ["a"]})
    rows = found.transform([{"word": f"w{k}"} for k in range(400)])
    assert rows.shape == (400, 9) and (rows[:, 0] == 1.0).all()
    assert (np.abs(rows[:, 1:]).sum(axis=1) == 1.0).all() and (rows[:, 1:].sum(axis=0) != 0.0).any()
    assert (np.abs(rows[:, 1:]).sum(axis=0) > 20).all()  # 50 are expected in each
    np.testing.assert_array_equal(rows[7], found.transform({"word": "w7"}))


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda e: e.transform({"country": "de"}), "frame has no column 'age'"),
        (lambda e: e.transform(row(age="old")), "age = 'old' is not a finite number"),
        (lambda e: e.transform(row(age=np.inf)), "not a finite number"),
        (lambda e: e.transform(row(when=3.0)), "holds numbers, but must hold times"),
        (lambda e: e.transform([]), "no rows"),
        (lambda e: e.transform([1, 2]), "no rows"),
        (lambda e: e.transform(np.zeros((2, 3))), "no column"),
        (lambda e: tr.Encoder().transform(row()), "learned nothing yet"),
        (lambda e: tr.Encoder({"age": "numbr"}), "'numbr' is not one of"),
        (lambda e: tr.Encoder(cross=[("age", "age")]), "two different columns"),
        (lambda e: tr.Encoder(cross=[("age", "country")]).fit(TABLE), "'age' is no category"),
        (lambda e: tr.Encoder(["height"]).fit(TABLE), "no column 'height'"),
        (lambda e: tr.Encoder(["x"]).fit({"x": [np.nan, np.nan]}), "has no number"),
        (lambda e: tr.Encoder.from_dict({"format": 1}), "cannot be read"),
        (lambda e: tr.Encoder.from_dict(e.to_dict() | {"more": 1}), "cannot be read"),
        (lambda e: tr.Session(tr.LinUCB(), arms=3, encoder=3), "has no transform"),
        (lambda e: tr.Session(tr.LinUCB(), arms=3, encoder=tr.Encoder()), "learned nothing yet"),
        (lambda e: tr.Session(tr.LinUCB(), arms=3, dimension=4, encoder=e), "leave dimension out"),
        (lambda e: tr.Session(tr.LinUCB(), arms=np.eye(3), encoder=e), "leave one out"),
        (lambda e: tr.Session(tr.UCB(), arms=3, encoder=e), "UCB"),
        (
            lambda e: tr.Session(tr.LinUCB(), arms=3, encoder=e).decide(np.zeros(e.dimension)),
            "no column|no table",
        ),
    ],
)
def test_mistakes_are_sentences(fitted, call, match):
    with pytest.raises(ValueError, match=match):
        call(fitted)


def test_what_was_learned_is_plain_data(fitted):
    import json

    again = tr.Encoder.from_dict(json.loads(json.dumps(fitted.to_dict())))
    np.testing.assert_array_equal(again.transform(TABLE), fitted.transform(TABLE))
    assert again.names == fitted.names and again.to_dict() == fitted.to_dict()


def visitors(number, seed=0):
    rng = np.random.default_rng(seed)
    return [
        row(
            country=str(rng.choice(["de", "fr", "it"])),
            age=float(rng.integers(18, 80)),
            device=str(rng.choice(["phone", "desk"])),
        )
        for _ in range(number)
    ]


def test_a_session_takes_rows_where_it_takes_features(fitted):
    one, other = (
        tr.Session(tr.LinUCB(), arms=["a", "b"], encoder=fitted),
        tr.Session(tr.LinUCB(), arms=["a", "b"], dimension=fitted.dimension),
    )
    for k, visitor in enumerate(visitors(60)):
        x = fitted.transform(visitor)
        a, b = one.decide(visitor, id=k), other.decide(x, id=k)
        assert (a.arm, a.propensity) == (b.arm, b.propensity)
        value = float(a.arm == (visitor["country"] == "de"))
        one.reward(k, value), other.reward(k, value)
    np.testing.assert_array_equal(
        one.explain(visitors(1, 5)[0])["mean"],
        other.explain(fitted.transform(visitors(1, 5)[0]))["mean"],
    )
    (
        one.update("a", 0.5, visitors(1, 6)[0]),
        other.update("a", 0.5, fitted.transform(visitors(1, 6)[0])),
    )
    rows = visitors(20, 7)
    table = pd.DataFrame(rows).assign(arm="b", reward=0.25)
    assert one.learn(table) == 20
    names = [f"x{k}" for k in range(fitted.dimension)]
    other.learn(
        pd.DataFrame(fitted.transform(rows), columns=names).assign(arm="b", reward=0.25),
        features=names,
    )
    np.testing.assert_array_equal(
        one.explain(rows[0])["mean"], other.explain(fitted.transform(rows[0]))["mean"]
    )


@pytest.mark.parametrize(
    "policy", [tr.LinUCB(), tr.CLUCB2(baseline=0, baseline_mean=0.1, arm_bound=9.0)]
)
def test_campaigns_take_rows_too(fitted, policy):
    one, other = (
        tr.Session(policy, arms=3, encoder=fitted),
        tr.Session(policy, arms=3, dimension=fitted.dimension),
    )
    rows = (
        [visitors(3, k) for k in range(8)]
        if isinstance(policy, tr.Conservative)
        else pd.DataFrame(visitors(8))
    )
    features = (
        np.stack([fitted.transform(each) for each in rows])
        if isinstance(rows, list)
        else fitted.transform(rows)
    )
    a, b = one.decide_many(rows, range(8)), other.decide_many(features, range(8))
    np.testing.assert_array_equal(a.arm, b.arm)
    assert one.encoder is fitted and other.encoder is None
    np.testing.assert_array_equal(one.open[3].context.features, other.open[3].context.features)
    assert one.reward_many(range(8), np.full(8, 0.5)) == 8


def test_every_arm_a_row_and_candidates_by_name(fitted):
    session = tr.Session(tr.LinUCB(shared=True), arms=3, encoder=fitted)
    rows = visitors(3)
    np.testing.assert_array_equal(session.decide(rows).context.features, fitted.transform(rows))
    np.testing.assert_array_equal(
        session.decide(pd.DataFrame(rows)).context.features, fitted.transform(rows)
    )
    catalogue = tr.Session(tr.LinUCB(), encoder=fitted)
    made = catalogue.decide({"first": rows[0], "second": rows[1]})
    assert made.name in ("first", "second")
    np.testing.assert_array_equal(made.context.features, fitted.transform(rows[:2]))


def test_a_session_goes_on_with_its_encoder_from_a_file_a_copy_and_a_pickle(fitted, tmp_path):
    session = tr.Session(tr.LinTS(), arms=3, encoder=fitted, seed=3)
    for k, visitor in enumerate(visitors(10)):
        session.decide(visitor, id=k)
        session.reward(k, 0.5)
    for again in (
        tr.Session.load(session.save(tmp_path / "s.npz")),
        copy.copy(session),
        pickle.loads(pickle.dumps(session)),
        session.fork(1)[0],
    ):
        assert again.encoder.to_dict() == fitted.to_dict()
        again.decide(visitors(1, 9)[0])
    assert signalled.seen(copy.copy(session)) == signalled.seen(session)
    with pytest.raises(ValueError, match="not the one that this session was saved with"):
        tr.Session.load(tmp_path / "s.npz", encoder=tr.Encoder(KINDS).fit(TABLE))


def test_transformers_of_scikit_learn_are_taken_as_they_are(tmp_path):
    compose, preprocessing = (
        pytest.importorskip("sklearn.compose"),
        pytest.importorskip("sklearn.preprocessing"),
    )
    scaler, levels = (
        preprocessing.StandardScaler(),
        preprocessing.OneHotEncoder(handle_unknown="ignore"),
    )
    made = compose.ColumnTransformer([("n", scaler, ["age"]), ("c", levels, ["country"])]).fit(
        pd.DataFrame(visitors(50))
    )
    session = tr.Session(tr.LinUCB(), arms=2, dimension=4, encoder=made)
    visitor = visitors(1, 4)[0]
    features = session.decide(visitor).context.features
    expected = np.asarray(made.transform(pd.DataFrame([visitor])))
    np.testing.assert_array_equal(features, np.repeat(expected, 2, axis=0))
    path = session.save(tmp_path / "s.npz")
    with pytest.raises(ValueError, match="encoder is missing"):
        tr.Session.load(path)
    assert tr.Session.load(path, encoder=made).decide(visitor).arm in (0, 1)
    with pytest.raises(ValueError, match="dimension is missing"):
        tr.Session(tr.LinUCB(), arms=2, encoder=made)


def plane(number, seed=0):
    x, y = np.random.default_rng(seed).normal(size=(2, number))
    return {"x": x, "y": y}


def test_inner_products_of_fourier_features_are_a_kernel():
    table, scale = plane(40), 1.3
    numbers = tr.Encoder().fit(table).transform(table)
    squared = ((numbers[:, None] - numbers) ** 2).sum(axis=2)
    estimates = []
    for seed in range(60):
        features = tr.Encoder(fourier=64, scale=scale, seed=seed).fit(table).transform(table)
        estimates.append(features @ features.T)
    error = np.std(estimates, axis=0, ddof=1) / np.sqrt(len(estimates))
    apart = np.mean(estimates, axis=0) - np.exp(-squared / (2 * scale**2))
    assert (np.abs(apart) < 4 * error).all()


def test_fourier_features_are_drawn_from_their_seed():
    one, same, other = (
        tr.Encoder(fourier=16, seed=seed).fit(TABLE).transform(TABLE) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(one, same)
    assert (one[:, -16:] != other[:, -16:]).all()
    np.testing.assert_array_equal(one[:, :-16], other[:, :-16])


def test_fourier_features_take_the_place_of_numbers_and_times():
    made = tr.Encoder(KINDS, cross=[("country", "device")], fourier=8, intercept=True).fit(TABLE)
    plain = tr.Encoder(KINDS, cross=[("country", "device")], intercept=True).fit(TABLE)
    smooth = ("age", "when")
    levels = [name for name in plain.names if not name.startswith(smooth)]
    assert made.names == (*levels, *(f"Fourier {k}" for k in range(8)))
    features = made.transform(TABLE)
    assert features.shape == (6, made.dimension) == (6, len(made.names))
    numbers = plain.transform(TABLE)
    kept = [name in levels for name in plain.names]
    np.testing.assert_array_equal(features[:, :-8], numbers[:, kept])
    rows = [{name: values[i] for name, values in TABLE.items()} for i in range(6)]
    for i, one in enumerate(rows):  # to the last bit, whatever the number of rows
        np.testing.assert_array_equal(features[i], made.transform(one))
    apart = [
        np.linalg.norm(numbers[i] - numbers[j])
        for numbers in [numbers[:, ~np.array(kept)]]
        for i in range(6)
        for j in range(i)
    ]
    assert made.to_dict()["fourier"]["scale"] == pytest.approx(np.median(apart))
    again = tr.Encoder.from_dict(made.to_dict())
    np.testing.assert_array_equal(again.transform(TABLE), features)
    far = made.transform(row(age=1e308))  # like nothing else, and finite
    assert np.isfinite(far).all() and np.isfinite(made.transform(row(age=-1e308))).all()
    alone = tr.Encoder(fourier=4).fit({"x": [2.0]})
    assert alone.to_dict()["fourier"]["scale"] == 1.0  # no two rows differ


def test_features_of_a_stored_draw_stay():
    """Files hold the seed: what it draws must not change with a later NumPy."""
    data = tr.Encoder({"x": "number"}, fourier=3, scale=1.0).fit({"x": [-1.0, 1.0]}).to_dict()
    np.testing.assert_allclose(
        tr.Encoder.from_dict(data).transform({"x": 0.5}),
        [-0.7512986277448402, -0.3581137355602365, -0.8126411356775817],
        rtol=1e-12,
    )


def test_sessions_with_fourier_features_go_on_from_files():
    encoder = tr.Encoder(fourier=32, seed=7).fit(plane(50))
    one = tr.Session(tr.LinTS(), arms=3, encoder=encoder, seed=3)
    other = tr.Session.from_bytes(one.to_bytes())
    for k, (x, y) in enumerate(zip(*plane(60, 1).values(), strict=True)):
        a, b = one.decide({"x": x, "y": y}, id=k), other.decide({"x": x, "y": y}, id=k)
        assert (a.arm, a.propensity) == (b.arm, b.propensity)
        one.reward(k, x * y), other.reward(k, x * y)
        if k == 30:
            other = tr.Session.from_bytes(other.to_bytes())


def right_of_xor(encoder, rounds=800):
    """How often the last half of the rounds plays the right one of two arms."""
    session = tr.Session(tr.LinUCB(), arms=2, encoder=encoder, seed=0)
    right = []
    for x, y in zip(*plane(rounds, 2).values(), strict=True):
        decision = session.decide({"x": x, "y": y})
        right.append(decision.arm == int((x > 0) ^ (y > 0)))
        session.reward(decision.id, float(right[-1]))
    return np.mean(right[rounds // 2 :])


def test_fourier_features_learn_what_is_not_linear():
    assert right_of_xor(tr.Encoder().fit(plane(200))) < 0.65
    assert right_of_xor(tr.Encoder(fourier=64).fit(plane(200))) > 0.85


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: tr.Encoder(fourier=0), "fourier = 0 is not a whole number from 1"),
        (lambda: tr.Encoder(fourier=8, scale=0.0), "scale = 0.0"),
        (lambda: tr.Encoder(scale=1.0), "such as fourier=256"),
        (lambda: tr.Encoder(fourier=8, seed=-1), "seed = -1"),
        (
            lambda: tr.Encoder(fourier=8).fit({"a": ["x", "y"]}),
            "needs a column of numbers or times",
        ),
        (
            lambda: tr.Encoder.from_dict(
                tr.Encoder().fit({"a": ["x"]}).to_dict()
                | {"fourier": {"size": 8, "scale": 1.0, "seed": 0}}
            ),
            "needs a column of numbers or times",
        ),
    ],
)
def test_mistakes_of_fourier_features_are_sentences(make, match):
    with pytest.raises(ValueError, match=match):
        make()


def forest_on(table, rewards):
    ensemble = pytest.importorskip("sklearn.ensemble")
    return ensemble.RandomForestRegressor(8, max_leaf_nodes=6, random_state=0).fit(
        tr.Encoder().fit(table).transform(table), rewards
    )


def test_leaves_of_a_forest_are_features(tmp_path):
    table = plane(300) | {"c": np.where(np.arange(300) % 2, "odd", "even")}
    wanted = (table["x"] > 0) ^ (table["y"] > 0)
    forest = forest_on(table, wanted)
    encoder = tr.Encoder(trees=forest, intercept=True).fit(table)
    features = encoder.transform(table)
    assert features.shape == (300, encoder.dimension) == (300, len(encoder.names))
    assert encoder.dimension == 1 + sum(tree.get_n_leaves() for tree in forest.estimators_)
    np.testing.assert_allclose((features[:, 1:] ** 2).sum(axis=1), 1.0)
    assert encoder.names[:2] == ("1", f"tree 0, leaf {encoder._leaves.reached[0][0]}")
    np.testing.assert_array_equal(
        encoder.transform({name: values[7] for name, values in table.items()}), features[7]
    )
    session = tr.Session(tr.LinTS(), arms=2, encoder=encoder, seed=3)
    path = session.save(tmp_path / "s.npz")
    with pytest.raises(ValueError, match="encoder is missing"):
        tr.Session.load(path)
    other = tr.Session.load(path, encoder=pickle.loads(pickle.dumps(encoder)))
    for k in range(40):
        row = {name: values[k] for name, values in table.items()}
        a, b = session.decide(row, id=k), other.decide(row, id=k)
        assert (a.arm, a.propensity) == (b.arm, b.propensity)
        session.reward(k, float(a.arm == wanted[k])), other.reward(k, float(a.arm == wanted[k]))
    with pytest.raises(ValueError, match="keep it with pickle"):
        encoder.to_dict()


def test_a_forest_learns_what_is_not_linear():
    table = plane(200)
    forest = forest_on(table, (table["x"] > 0) ^ (table["y"] > 0))
    assert right_of_xor(tr.Encoder(trees=forest).fit(table)) > 0.85


class Stumps:
    """As LightGBM's models are."""

    def predict(self, rows, pred_leaf=False):
        assert pred_leaf
        return (rows > 0).astype(np.int32)


class Mean:
    def predict(self, rows):
        return np.zeros(len(rows))


def test_forests_as_lightgbm_has_them():
    encoder = tr.Encoder(trees=Stumps()).fit({"x": [1.0, 2.0, 3.0], "y": [5.0, 6.0, 9.0]})
    assert encoder.names == tuple(f"tree {k}, leaf {leaf}" for k in (0, 1) for leaf in (0, 1))
    np.testing.assert_allclose(
        encoder.transform({"x": 9.0, "y": 0.0}), np.sqrt([0.0, 0.5, 0.5, 0.0])
    )
    lightgbm = pytest.importorskip("lightgbm")
    table = plane(300)
    booster = lightgbm.LGBMRegressor(n_estimators=5, num_leaves=6, verbose=-1).fit(
        tr.Encoder().fit(table).transform(table), table["x"] * table["y"]
    )
    features = tr.Encoder(trees=booster).fit(table).transform(table)
    np.testing.assert_allclose((features**2).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: tr.Encoder(trees=3), "has neither apply nor predict"),
        (lambda: tr.Encoder(trees=Stumps(), fourier=8), "leave one out"),
        (lambda: tr.Encoder(trees=Mean()).fit(TABLE), "has no leaves"),
        (
            lambda: tr.Encoder(trees=forest_on(plane(20), np.arange(20))).fit(TABLE),
            "fitted on 2 columns",
        ),
        (
            lambda: tr.Encoder(
                trees=forest_on(plane(20), np.arange(20)).fit(
                    pd.DataFrame(plane(20)), np.arange(20)
                )
            ).fit(plane(20)),
            "fitted on columns by name",
        ),
    ],
)
def test_mistakes_of_trees_are_sentences(make, match):
    with pytest.raises(ValueError, match=match):
        make()
