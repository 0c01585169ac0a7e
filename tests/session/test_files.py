"""Session files: those of every format load and continue, and a stranger's choose nothing that
runs."""

import collections
import gc
import json
import os
import pathlib

import numpy as np
import pytest

import tightrope as tr
from session import histories, strangers
from session.record_files import what_follows
from tiers import thorough
from tightrope.core import files, streams
from tightrope.session import store
from tightrope.session.store import FORMAT

DATA = pathlib.Path(__file__).parent / "data"
ARM, PROPENSITY, _, REASON, ROUND, CONTEXT, MORE = range(1, 8)  # places in a written decision
STRANGERS = int(
    os.environ.get("TIGHTROPE_STRANGERS", "500")
)  # of each kind; 10000 before a release


@pytest.mark.parametrize(
    "path", sorted(DATA.glob(f"session-format-{FORMAT}*.safetensors")), ids=lambda path: path.stem
)
def test_files_written_before_keep_their_open_decisions(path):
    """Made by record_files.py."""
    expected = json.loads((DATA / f"session-format-{FORMAT}.json").read_text())[path.stem]
    told = what_follows(tr.Session.load(path))
    np.testing.assert_allclose(told.pop("mean"), expected.pop("mean"), rtol=1e-9)
    assert told == expected


@pytest.mark.parametrize(
    "name",
    ["test", "seed", "Generator", "RandomState", "bit_generator", "__class__", None, 3, ["PCG64"]],
)
def test_a_file_cannot_name_what_is_called(name, tmp_path, monkeypatch):
    """numpy.random.test starts NumPy's own test suite, seed reseeds the global generator."""

    def called(*given, **named):
        raise SystemError("a file chose what is called")

    monkeypatch.setattr(np.random, "test", called)
    monkeypatch.setattr(np.random, "seed", called)
    path = tr.Session(tr.UCB(), arms=3).save(tmp_path / "s.npz")
    header, arrays = strangers.opened(path)
    header["rng"]["bit_generator"] = name
    strangers.write(path, header, arrays)
    with pytest.raises(
        ValueError,
        match=r"bit_generator = .* is not one of PCG64, PCG64DXSM, Philox, SFC64, MT19937",
    ):
        tr.Session.load(path)


@pytest.mark.parametrize("name", sorted(streams.GENERATORS))
def test_known_generators_continue(name):
    generator = np.random.Generator(streams.GENERATORS[name](3))
    generator.random(5)
    again = streams.unpack(json.loads(json.dumps(streams.pack(generator), default=files.plain)))
    assert again.random(3).tolist() == generator.random(3).tolist()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda h: h["policy"].update(policy="os"), "policy = 'os' is not one of"),
        (lambda h: h["policy"].update(beta=-1.0), "beta = -1"),
        (lambda h: h["policy"].update(nonsense=1), "no parameter 'nonsense'"),
        (
            lambda h: h.update(
                policy={
                    "policy": "Safe",
                    "baseline": 0,
                    "inner": {
                        "policy": "Safe",
                        "inner": {
                            "policy": "Safe",
                            "inner": {
                                "policy": "Safe",
                                "inner": {"policy": "Safe", "inner": {"policy": "UCB"}},
                            },
                        },
                    },
                }
            ),
            "inside policies more than 3 deep",
        ),
        (
            lambda h: h["oracle"].update(oracle="choose"),
            "oracle = 'choose' is not one of TopK, Partition, Knapsack, Promotions",
        ),
        (lambda h: h["oracle"].update(k=-1), "k = -1"),
        (lambda h: h["oracle"].update(more=1), "but takes"),
        (lambda h: h["arms"].update(number=10**12), "header's arms|asks for"),
        (lambda h: h["arms"].update(dimension=10**6), "asks for"),
        (lambda h: h["options"].update(seed=-1), "seed = -1"),
        (lambda h: h.update(rounds="many"), "rounds cannot be read"),
        (lambda h: h.update(extra=1), "unknown field `extra`"),
        (lambda h: h["options"].update(apply="later"), "apply = 'later'"),
        (lambda h: h["options"].update(window=5), "default_reward, which is missing"),
        (lambda h: h["options"].update(names=["a"] * 5), "'a' twice"),
        (lambda h: h["options"].update(seed=3.0), "options is not what its session has"),
        (lambda h: h["options"].update(clock=None), "clock = None"),
        (lambda h: h.update(format=2), "has format 2, but this version reads 6"),
        (
            lambda h: h["book"]["open"][0].__setitem__(ARM, [0, 9]),
            "has arms .*, which its round has not",
        ),
        (
            lambda h: h["book"]["open"][0].__setitem__(ARM, [1, 1]),
            "has arms .*, which its round has not",
        ),
        (lambda h: h["book"]["open"][0].__setitem__(ARM, 1), "has arms 1, which its round has not"),
        (lambda h: h["book"]["open"][0].__setitem__(CONTEXT, 7), "holds what no session has"),
        (lambda h: h["book"]["open"].append(h["book"]["open"][0]), "is out of order"),
        (
            lambda h: h["book"]["open"][0].__setitem__(PROPENSITY, [0.5, 1.5]),
            r"book.open\[0\]\[2\]\[1\] cannot be read",
        ),
        (lambda h: h["book"]["open"][0].__setitem__(PROPENSITY, [0.5]), "not one for each arm"),
        (lambda h: h["book"]["open"][0].__setitem__(ROUND, 2), "of round 2 is out of order"),
        (lambda h: h["book"]["open"][0].__setitem__(REASON, 1), "holds what no session has"),
        (
            lambda h: h["book"]["open"][0].__setitem__(MORE, None),
            "does not wait for the rest of its arms",
        ),
        (
            lambda h: h["book"]["open"][0][MORE].__setitem__(0, ["0", "1"]),
            "book is not what its session has",
        ),
        (lambda h: h["book"]["reasons"].append("because"), "book is not what its session has"),
        (
            lambda h: h["book"]["rounds"].append(h["book"]["rounds"][0]),
            "book is not what its session has",
        ),
        (lambda h: h["book"].update(last="another"), "holds what no session has"),
        (
            lambda h: h["rng"].update(state={"state": -1, "inc": 1}),
            "the state of PCG64 is not one that it can have",
        ),
        (
            lambda h: h.update(
                rng={"bit_generator": "MT19937", "state": {"key": [1] * 624, "pos": 625}}
            ),
            "the state of MT19937 is not one that it can have",
        ),
        (
            lambda h: h["rng"].update(has_uint32=[1]),
            "is not one that it can have .an integer is required",
        ),
    ],
)
def test_edited_headers_are_refused_with_a_sentence(change, words, tmp_path):
    session = tr.Session(
        tr.C2UCB(), arms=histories.kinds()["C2UCB"][1]["arms"], oracle=tr.oracles.TopK(2)
    )
    if "beta" in words or "nonsense" in words:
        session = tr.Session(tr.LinUCB(), arms=session.arms.features)
    session.decide()
    path = session.save(tmp_path / "s.npz")
    header, arrays = strangers.opened(path)
    change(header)
    strangers.write(path, header, arrays)
    with pytest.raises(ValueError, match=words) as caught:
        tr.Session.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("policy", "arms", "edit", "words"),
    [
        (tr.UCB(), {"arms": 3}, {"state.pulls": np.array([1.0, -1.0, 0.0])}, "negative count"),
        (tr.UCB(), {"arms": 3}, {"state.sums": np.array([0.0, np.nan, 0.0])}, "not finite"),
        (
            tr.BetaThompson(),
            {"arms": 3},
            {"state.sums": np.array([0.0, 2.0, 0.0])},
            "can add up to",
        ),
        (
            tr.UCB(),
            {"arms": 3},
            {"state.pulls": np.zeros(2)},
            r"float64 of shape \(2,\), but must be float64 of shape \(3,\)",
        ),
        (tr.UCB(), {"arms": 3}, {"state.pulls": np.zeros(3, dtype=np.float32)}, "float32"),
        (tr.UCB(), {"arms": 3}, {"retired": np.ones(4, dtype=bool)}, "retired"),
        (
            tr.CKLUCB(lipschitz=1.0),
            {"points": [0.0, 0.5, 1.0]},
            {"state.order": np.array([0, 1, 10**9])},
            r"outside \[0, 2\]",
        ),
        (
            tr.CKLUCB(lipschitz=1.0),
            {"points": [0.0, 0.5, 1.0]},
            {"state.order": np.array([0, 1, 1])},
            "every arm once",
        ),
        (
            tr.CKLUCB(lipschitz=1.0),
            {"points": [0.0, 0.5, 1.0]},
            {"state.near": np.full((3, 3), 2, dtype=np.uint32)},
            "not what these arms",
        ),
        (
            tr.LinUCB(),
            {"arms": np.eye(3)},
            {"state.model.lam": np.array(2.0)},
            "is not the 1.0 of this policy",
        ),
        (
            tr.LinUCB(),
            {"arms": np.eye(3)},
            {"state.model.features": 2 * np.eye(3, 4)},
            "not what these arms give",
        ),
    ],
)
def test_arrays_that_no_kernel_writes_are_refused(policy, arms, edit, words, tmp_path):
    path = tr.Session(policy, **arms).save(tmp_path / "s.npz")
    header, arrays = strangers.opened(path)
    strangers.write(path, header, arrays | edit)
    with pytest.raises(ValueError, match=words):
        tr.Session.load(path)


def test_a_loaded_state_needs_no_new_compilation(tmp_path):
    """An aligned record comes back aligned: kernels compiled for one type are not compiled again
    for another."""
    from numba import typeof

    policy = tr.CUCB2(baseline=0, baseline_mean=0.5)
    session = tr.Session(policy, arms=3)
    again = tr.Session.load(session.save(tmp_path / "s.npz"))
    assert typeof(again.state) == typeof(session.state)
    assert typeof(again.state.ledger).dtype.aligned == typeof(session.state.ledger).dtype.aligned


def test_a_loaded_session_writes_the_file_that_it_was_loaded_from(tmp_path):
    """Failed before: rounds that show nothing became two rounds in the next file."""
    for name, path in strangers.sessions(tmp_path).items():
        assert strangers.outcome(path, tmp_path / "again.npz") == "loaded", name


@pytest.mark.parametrize("running", [True, False])
def test_the_collector_is_as_it_was_after_files_and_refused_files(running, tmp_path, monkeypatch):
    """With 100,000 open decisions it takes most of the time, so it waits; a state that nobody asked
    for would be found much later."""
    during = []
    monkeypatch.setattr(
        store,
        "build",
        lambda *told, build=store.build: (during.append(gc.isenabled()), build(*told))[1],
    )
    session = tr.Session(tr.UCB(), arms=2)
    session.decide()
    (tmp_path / "damaged").write_bytes(session.to_bytes()[:-100])
    before = gc.isenabled()
    (gc.enable if running else gc.disable)()
    try:
        tr.Session.load(session.save(tmp_path / "whole"))
        with pytest.raises(ValueError, match="not a session file"):
            tr.Session.load(tmp_path / "damaged")
        with pytest.raises(ValueError, match="policy"):
            tr.Session.load(tmp_path / "whole", policy=1)
        assert gc.isenabled() is running
        assert during == [False, False]
    finally:
        (gc.enable if before else gc.disable)()


def test_no_more_memory_is_taken_than_a_file_has_bytes(tmp_path):
    """Headers of arrays that claim petabytes, and states that would grow with the square of the
    arms."""
    path = tr.Session(tr.UCB(), arms=3).save(tmp_path / "s.npz")
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    huge = data[8 : 8 + size].replace(b'"shape":[3]', b'"shape":[1000000000000000]')
    for content in (
        len(huge).to_bytes(8, "little") + huge + data[8 + size :],
        (2**62).to_bytes(8, "little") + data[8:],
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is not a session file"):
            tr.Session.load(path)
    plain = tr.Session(tr.CombUCB1(), arms=3, oracle=tr.oracles.TopK(2)).save(path)
    header, arrays = strangers.opened(plain)
    header["arms"]["number"] = 10**9
    strangers.write(path, header, arrays)
    with pytest.raises(ValueError, match="the header asks for 1000000000 arms"):
        tr.Session.load(path)
    X = np.random.default_rng(0).normal(size=(40_000, 1))
    for policy in ("RAGE", "XYAdaptive", "XYStatic"):
        small = tr.Session(getattr(tr, policy)(epsilon=0.1), arms=X[:20]).save(path)
        header, arrays = strangers.opened(small)
        header["arms"]["number"] = len(X)
        strangers.write(path, header, arrays | {"arms.features": X})
        with pytest.raises(ValueError, match="but the header asks for 40000 arms"):
            tr.Session.load(path)
    path.write_bytes(b"[" * 100_000)
    with pytest.raises(ValueError, match="is not a session file"):
        tr.Session.load(path)


def test_files_that_were_cut_changed_or_written_before_are_refused(tmp_path):
    data = tr.Session(tr.UCB(), arms=3).to_bytes()
    for length in (0, 1, 7, 8, 100, len(data) - 1):
        with pytest.raises(ValueError, match="is not a session file"):
            tr.Session.from_bytes(data[:length])
    for place in range(0, len(data), 17):
        with pytest.raises(ValueError, match="is not a session file"):
            tr.Session.from_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    np.savez(tmp_path / "former.npz", header=np.zeros(3))
    with pytest.raises(
        ValueError,
        match="format 6; it may have an earlier format, which this version does not read",
    ):
        tr.Session.load(tmp_path / "former.npz")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a damaged file may hold numbers of any size
@thorough
@pytest.mark.parametrize("damage", [strangers.edited, strangers.flipped])
def test_damaged_files_are_refused_or_load_as_they_are(damage, tmp_path, monkeypatch):
    def called(*given, **named):
        raise SystemError("a file chose what is called")

    monkeypatch.setattr(np.random, "test", called)
    monkeypatch.setattr(np.random, "seed", called)
    monkeypatch.setattr(
        os, "fsync", lambda handle: None
    )  # thousands of files need not survive a power cut
    bases = sorted(strangers.sessions(tmp_path).items())
    draw, counts = np.random.default_rng(0), collections.Counter()
    for k in range(STRANGERS):
        damage(bases[k % len(bases)][1], draw, tmp_path / "stranger.npz")
        counts[strangers.outcome(tmp_path / "stranger.npz", tmp_path / "again.npz")] += 1
    print(damage.__name__, dict(counts))
    assert counts["refused"] > 0.3 * STRANGERS
    assert counts["loaded"] > 0.01 * STRANGERS


@pytest.mark.parametrize("policy", [tr.LinUCB(), tr.LinTS(), tr.SquareCB()])
def test_the_greatest_rewards_leave_a_file_that_can_be_read(policy):
    """Sums of a regression with an intercept are of rewards less the first one, so up to twice as
    large."""
    session = tr.Session(policy, arms=np.array([[1.0, 0.0], [0.0, 1.0], [0.75, 0.5]]))
    for t in range(12):
        session.update(session.select(), 1e100 if t % 2 else -1e100)
    assert tr.Session.from_bytes(session.to_bytes()).rounds == 12
