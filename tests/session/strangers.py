"""Damaged and edited session files, and what becomes of them."""

import json

import numpy as np

import tightrope as tr
from session import histories
from tightrope.core import files

NAMES = [
    "test",
    "seed",
    "Generator",
    "default_rng",
    "__init__",
    "os.system",
    "PCG64",
    "MT19937",
    "Philox",
    "TopK",
    "choose",
    "set_size",
    "UCB",
    "LinGapE",
    "nonsense",
    "",
    "on arrival",
    "in order",
    "rewarded",
    "closed",
]
NUMBERS = [
    0,
    1,
    -1,
    2,
    5,
    1.5,
    -0.0,
    1e308,
    -1e308,
    float("nan"),
    float("inf"),
    2**31,
    2**62,
    2**63,
    10**18,
    10**40,
    True,
    False,
    None,
]


def opened(file):
    """The document of a file, or of its bytes, as JSON, and its arrays."""
    document, arrays = files.read_arrays(file if isinstance(file, bytes) else file.read_bytes())
    return json.loads(document), arrays


def write(path, header, arrays):
    """Such a file, whose checksum is right."""
    path.write_bytes(files.arrays_to_bytes(json.dumps(header).encode(), arrays))


def sessions(folder):
    """Files of many kinds, with open decisions."""
    made = {}
    for kind in ("UCB in order", "LinUCB, catalogue", "CUCB2", "C2UCB in order"):
        made[kind] = histories.run(kind, 4, folder / "base.npz", steps=30)[0]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    limits = {"a": 1, "b": 2}
    for name, session in {
        "points": tr.Session(tr.OSLB(lipschitz=1.0), points=np.linspace(0, 1, 6)),
        "line": tr.Session(tr.HOO(nu=1.0), points=np.linspace(0, 1, 6)),
        "identification": tr.Session(tr.LinGapE(rule="ratio"), arms=X),
        "phases": tr.Session(tr.RAGE(), arms=X),
        "partition": tr.Session(
            tr.CombTS(),
            arms=X,
            oracle=tr.oracles.Partition(list("aabbab"), limits, 2),
            names=list("uvwxyz"),
        ),
        "features": tr.Session(
            tr.LinTS(scale=0.3), arms=X, names=list("uvwxyz"), window=50, default_reward=0.0
        ),
    }.items():
        for t in range(24):
            d = session.decide()
            if t % 4:
                session.reward(
                    d.id, [0.5] * len(d.arm) if isinstance(d.arm, np.ndarray) else 0.25 * (t % 3)
                )
        made[name] = session
    return {name: session.save(folder / f"{name}.npz") for name, session in made.items()}


def places(value, path=()):
    """Every place of a JSON value."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for k, item in enumerate(value[:30]):
            yield from places(item, (*path, k))


def random_value(rng):
    kind = rng.integers(6)
    if kind == 0:
        return NAMES[rng.integers(len(NAMES))]
    if kind == 1:
        return [NUMBERS[rng.integers(len(NUMBERS))] for _ in range(rng.integers(4))]
    if kind == 2:
        return {NAMES[rng.integers(len(NAMES))]: NUMBERS[rng.integers(len(NUMBERS))]}
    return NUMBERS[rng.integers(len(NUMBERS))]


def edit_header(header, rng):
    """One to three random edits: values replaced, nudged, removed, added, swapped."""
    header = json.loads(json.dumps(header))
    for _ in range(int(rng.integers(1, 4))):
        found = [path for path in places(header) if path]
        path = found[int(rng.integers(len(found)))]
        at = header
        for key in path[:-1]:
            at = at[key]
        move, key = rng.integers(6), path[-1]
        if move == 0 and isinstance(at, dict):
            del at[key]
        elif move == 1 and isinstance(at, dict):
            at[NAMES[rng.integers(len(NAMES))]] = random_value(rng)
        elif move == 2 and isinstance(at[key], (int, float)):
            at[key] = at[key] + int(rng.integers(-2, 3))
        elif move == 3:
            other = found[int(rng.integers(len(found)))]
            item = header
            for step in other:
                item = item[step]
            at[key] = json.loads(json.dumps(item))
        else:
            at[key] = random_value(rng)
    return header


def edit_array(array, rng):
    """Another shape, type or number."""
    move = rng.integers(6)
    if move == 0:
        with np.errstate(all="ignore"):
            return (
                array.astype(rng.choice(["f4", "i8", "f8", "u1", "?", "f2"]))
                if array.dtype.kind in "fiub"
                else array[:0]
            )
    if move == 1:
        return array.reshape(-1)[: int(rng.integers(array.size + 1))].copy()
    if move == 2:
        return np.concatenate([array, array]) if array.ndim else array.reshape(1)
    array = array.copy()
    if array.size and array.dtype.names is None and array.dtype.kind in "fiu":
        with np.errstate(all="ignore"):
            value = NUMBERS[rng.integers(len(NUMBERS) - 3)]
            if array.dtype.kind != "f":
                value = (
                    int(rng.integers(-3, 12))
                    if rng.random() < 0.7 or not -(2**31) < value < 2**31
                    else int(value)
                )
                value = max(value, 0) if array.dtype.kind == "u" else value
            array.reshape(-1)[int(rng.integers(array.size))] = value
        return array
    raw = array.reshape(-1).view(np.uint8) if array.size else np.zeros(1, dtype=np.uint8)
    raw[int(rng.integers(raw.size))] = rng.integers(256)
    return array


def edited(path, rng, target):
    """A whole archive whose header or arrays were edited."""
    header, arrays = opened(path)
    if rng.random() < 0.6:
        header = edit_header(header, rng)
    else:
        name = sorted(arrays)[int(rng.integers(len(arrays)))]
        arrays[name] = edit_array(arrays[name], rng)
    write(target, header, arrays)


def flipped(path, rng, target):
    """Bytes flipped, cut, repeated or zeroed; in half of the cases inside an array or the document,
    whose checksum is then right again."""
    data = bytearray(path.read_bytes())
    if rng.random() < 0.5:
        document, arrays = files.read_arrays(path.read_bytes())
        parts = {
            name: bytearray(array.tobytes()) for name, array in arrays.items() if array.size
        } | {"": bytearray(document)}
        name = sorted(parts)[int(rng.integers(len(parts)))]
        for _ in range(int(rng.integers(1, 4))):
            parts[name][int(rng.integers(len(parts[name])))] = int(rng.integers(256))
        if name:
            arrays[name] = np.frombuffer(parts[name], dtype=arrays[name].dtype).reshape(
                arrays[name].shape
            )
        target.write_bytes(files.arrays_to_bytes(bytes(parts[""]), arrays))
        return
    move, first = rng.integers(4), int(rng.integers(len(data)))
    length = int(rng.integers(1, 200))
    if move == 0:
        del data[first:]
    elif move == 1:
        data[first:first] = data[first : first + length]
    elif move == 2:
        data[first : first + length] = bytes(len(data[first : first + length]))
    else:
        for _ in range(int(rng.integers(1, 9))):
            data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    target.write_bytes(data)


def outcome(path, again):
    """ "refused", or "loaded" if the session says the same as the file and goes on; anything else
    raises."""
    try:
        session = tr.Session.load(path)
    except ValueError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 2000
        return "refused"
    told, told_arrays = opened(path)
    session.save(again)
    written, arrays = opened(again)
    told["policy"] = (
        written["policy"] | told["policy"]
    )  # parameters that a file leaves out have their defaults
    told["version"] = written["version"]  # only says who wrote it
    assert told == written
    for name, array in arrays.items():
        assert array.tobytes() == told_arrays[name].tobytes(), name
    try:
        for _ in range(2):
            features = (
                np.ones((session.arms.rows, session.arms.dimension)) / 4
                if session._rounds.changing
                else None
            )
            d = session.decide(features)
            session.reward(d.id, [0.5] * len(d.arm) if isinstance(d.arm, np.ndarray) else 0.5)
        session.explain()
    except ValueError:
        pass
    return "loaded"
