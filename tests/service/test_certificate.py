"""The certificate says what the log says, and a change of either is found."""

import asyncio
import hashlib
import json
import math
from contextlib import closing

import pytest
import sqlalchemy as sa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from running import (
    PRICES,
    ask,
    create,
    decide,
    place,
    reward,
    service_at,
    standing_and_history,
)
from typer.testing import CliRunner

from tightrope.cli.application import app
from tightrope_service import commands, log
from tightrope_service.certificate import (
    canonical,
    certificate,
    check,
    fingerprint,
    public_key,
)
from tightrope_service.client import Shop, drive, price_shop
from tightrope_service.commands import issue
from tightrope_service.database import Database
from tightrope_service.history import POINTS, History
from tightrope_service.log import events
from tightrope_service.requests import ModeChange
from tightrope_service.service import Histories


class Local:
    """The traffic's client, without HTTP."""

    def __init__(self, service, name):
        self.service, self.name, self.made = service, name, 0

    def decide_many(self, number):
        told = [decide(self.service, f"d{self.made + k}", self.name) for k in range(number)]
        self.made += number
        return [type("Made", (), one) for one in told]

    def reward_many(self, rewards):
        return {id: reward(self.service, id, value, self.name) for id, value in rewards.items()}


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """A shop's certificate, the truth behind it, and its database."""
    folder = tmp_path_factory.mktemp("certified")
    shop = price_shop()
    with service_at(folder / "a.db") as service:
        create(service, shop.spec("shop", rollout=False))
        truth = drive(Local(service, "shop"), shop, 600, delay=50)
        ask(service, commands.change_mode, ModeChange(mode="shadow", why="a look"), name="shop")
        decide(service, "last", "shop")
        found = asyncio.run(issue(service, "shop"))
        key = public_key(service.private_key)
        with service.database.read() as connection:
            entries = list(log.read(connection, 1))
    return found, truth, key, folder, entries


def test_what_it_states(certified):
    found, truth, key, _, _ = certified
    assert check(found, key) == check(json.loads(json.dumps(found)), key) == []
    assert found["decisions"] == 601 and found["log"]["events"] == 1203
    assert found["baseline_share"] == pytest.approx((truth.baseline_share * 600 + 1) / 601)
    assert found["budget"]["bound"] <= truth.budget + 0.1 and len(found["budget"]["over_time"]) > 20
    assert [one["mode"] for one in found["modes"]] == ["full", "shadow"] and found["modes"][1][
        "why"
    ] == "a look"
    assert (
        found["open"]["decisions"] == 1
        and "0.99" in found["promise"]
        and "0.9 times" in found["promise"]
    )
    assert any("0.195" in one["says"] for one in found["assumptions"])


GUARD = {
    "name": "shop",
    "policy": "UCB",
    "arms": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
    "baseline": "a",
    "baseline_mean": 0.5,
    "alpha": 0.1,
}
ROWS = [
    {"id": name, "features": row}
    for name, row in (("a", [1.0, 0.0]), ("b", [0.0, 1.0]), ("c", [0.7, 0.7]))
]
LINEAR, DELAY = (
    "theta_bound",
    "When a reward arrives, and whether it does, does not depend on what it is.",
)
RANGE, PSI = "within the declared range", {"martingale": "freedman"}
EVERY_ROUND = {"policy": "LinUCB", "dimension": 2}
SET = {
    "policy": "C2UCB",
    "arms": ROWS,
    "oracle": {"oracle": "TopK", "k": 2},
    "baseline": ["a", "b"],
    "baseline_mean": 1.0,
}


def test_the_baselines_share_counts_the_policys_own_choices_of_it(tmp_path):
    shop = price_shop()
    with service_at(tmp_path / "a.db") as service:
        create(service, shop.spec("shop", rollout=True))
        truth = drive(Local(service, "shop"), shop, 900, delay=50)
        found = asyncio.run(issue(service, "shop"))
    assert "capped" in [one["mode"] for one in found["modes"]]
    assert found["baseline_share"] == pytest.approx(truth.baseline_share)


@pytest.mark.parametrize(
    ("more", "asked", "promised", "said", "unsaid"),
    [
        (
            {},
            {},
            "0.99, in every round the expected reward",
            [RANGE, "does not change"],
            [LINEAR, DELAY, "by at most 1", "sub-Gaussian"],
        ),
        (
            {"guarantee": PSI},
            {},
            "in every round",
            ["between 0 and 1", "does not change", "by at most 1"],
            [LINEAR, DELAY, RANGE],
        ),
        (
            {"guarantee": {"checkpoint": 7000}},
            {},
            "at checkpoints, after every 7000 decisions, the expected",
            [],
            [],
        ),
        (
            {"guarantee": {"checkpoint": [5, 11]}},
            {},
            "after 5, 11 decisions and always after the last of them, the",
            [],
            [],
        ),
        (
            {"guarantee": {"checkpoint": 70, "min_gap": 50}},
            {},
            "two are at least 50 rounds apart, the expected",
            [],
            [],
        ),
        ({"guarantee": {"open": "lower"}}, {}, "in every round", [DELAY], [LINEAR]),
        ({"guarantee": {"martingale": "subgaussian"}}, {}, "in every round", [], ["by at most 1"]),
        ({"baseline_mean": None}, {}, "in every round", ["mean is learned", RANGE], []),
        (
            {"baseline_mean": None, "guarantee": PSI},
            {},
            "in every round",
            ["mean is learned", "Rewards are at most 1."],
            [],
        ),
        (
            {"policy": "LinUCB", "arms": ROWS},
            {},
            "in every round",
            [LINEAR, DELAY, RANGE, "sub-Gaussian"],
            [],
        ),
        (
            {"policy": "LinUCB", "arms": ROWS, "apply": "in order", "default_reward": 0.0},
            {},
            "in every round",
            [LINEAR],
            [DELAY, "Whether"],
        ),
        (
            {"policy": "LinUCB", "arms": ROWS, "apply": "in order"},
            {},
            "in every round",
            [LINEAR, "Whether a reward arrives does"],
            [DELAY],
        ),
        (
            EVERY_ROUND,
            {"context": [[0.6, 0.0], [0.0, 0.6], [0.5, 0.5]]},
            "in every round",
            [LINEAR, DELAY],
            [],
        ),
        (
            SET,
            {},
            "in every round",
            [LINEAR, DELAY, RANGE, "depend on each other"],
            ["between 0 and 1."],
        ),
        (
            {"rollout": {"mode": "full", "production": {"a": 0.5, "b": 0.5}}},
            {},
            "b; rollout.production) is counted but not guarded",
            [],
            [],
        ),
        ({"rollout": {"mode": "full", "production": {"a": 1.0}}}, {}, "in every round", [], []),
        (
            {"baseline_mean": None, "alpha": None},
            {},
            "None: the policy keeps no budget",
            [],
            [LINEAR, "sub-Gaussian"],
        ),
    ],
)
def test_it_says_what_it_promises_and_what_that_rests_on(
    service, more, asked, promised, said, unsaid
):
    spec = GUARD | more
    spec["guarantee"] = {} if spec["alpha"] is None else {"sigma": 0.5} | spec.get("guarantee", {})
    create(service, spec)
    for n in range(3):
        decide(service, f"d{n}", "shop", **asked)
    found = asyncio.run(issue(service, "shop"))
    assert promised in found["promise"], found["promise"]
    words = " ".join(one["says"] for one in found["assumptions"])
    assert all(one["why"].endswith((".", ")")) for one in found["assumptions"])
    assert all(one in words for one in said) and not any(one in words for one in unsaid), found[
        "assumptions"
    ]
    assert (found["budget"] is None) == (spec["alpha"] is None)
    if found["budget"] is not None:
        assert found["budget"]["bound"] >= 0.0 or spec["baseline_mean"] is None
    assert "open" in found["open"]["charged"] or found["budget"] is None


def test_a_certificate_is_issued_whatever_a_reward_was(service):
    create(service, GUARD | {"baseline_mean": None, "alpha": None})
    for value in (-1e100, 1e100, 0.5):
        reward(service, decide(service, name="shop")["id"], value, "shop")
    assert asyncio.run(issue(service, "shop"))["decisions"] == 3


def numbers_and_texts(value, path=()):
    """Every leaf of a certificate with its path."""
    if isinstance(value, dict | list):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers_and_texts(item, (*path, name))
    else:
        yield path, value


def changed(certificate, path, value):
    """A copy with another value at a path."""
    copy = json.loads(json.dumps(certificate))
    place = copy
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return copy


def other(value):
    """The nearest value of the same kind that is not this one."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return math.nextafter(value, math.inf)
        case str():
            return value[:-1] + chr(ord(value[-1]) ^ 1) if value else "x"
    return 0


def test_a_third_party_notices_a_change_of_any_field(certified):
    found, _, public, *_ = certified
    leaves = list(numbers_and_texts(found))
    assert len(leaves) > 80
    for path, value in leaves:
        wrong = changed(found, path, other(value))
        assert check(wrong, public), path
        body = {name: item for name, item in wrong.items() if name not in ("sha256", "ed25519")}
        resealed = wrong | {
            "sha256": hashlib.sha256(canonical(body)).hexdigest()
        }  # by somebody who has no private key
        assert check(resealed, public) or path == ("sha256",), path
    for name in found:
        assert check({key: value for key, value in found.items() if key != name}, public), name
    assert check(found | {"hmac_sha256": "0"}, public) and check(
        found | {"note": "also true"}, public
    )


def test_who_signs_with_a_key_of_their_own_is_found(certified):
    found, _, public, *_ = certified
    own = bytes(range(32))
    body = {name: value for name, value in found.items() if name not in ("sha256", "ed25519")} | {
        "decisions": 10**6
    }
    for named in (fingerprint(public_key(own)), found["public_key"]):
        body["public_key"] = named
        forged = body | {
            "sha256": hashlib.sha256(canonical(body)).hexdigest(),
            "ed25519": Ed25519PrivateKey.from_private_bytes(own).sign(canonical(body)).hex(),
        }
        assert check(forged, public)


def test_the_command_checks_with_the_public_key_alone(certified):
    found, _, public, folder, _ = certified
    file, key = folder / "shown.json", folder / "key.pem"
    file.write_text(json.dumps(found, indent=1))
    key.write_bytes(public)

    def run(*more):
        return CliRunner().invoke(
            app,
            [
                "certificate",
                str(file),
                "--public-key",
                str(key),
                "--db",
                str(folder / "nowhere.db"),
                *more,
            ],
        )

    assert run().exit_code == 0 and found["public_key"] in run().output
    file.write_text(json.dumps(found).replace('"decisions": 601', '"decisions": 602'))
    assert run().exit_code == 1 and "it was changed" in run().output
    file.write_text('{"decisions": 999, ' + json.dumps(found)[1:])
    assert "stands twice" in str(run().exception)
    file.write_text(json.dumps(found))
    key.write_text("no key")
    assert "not a public key for Ed25519" in str(run().exception)


def test_a_change_is_found(certified):
    found, _, key, folder, _ = certified
    assert len(check((found | {"budget": found["budget"] | {"bound": 1e6}}), key)) == 2
    assert "another public key" in check(found, public_key(bytes(32)))[0]
    file, db = folder / "certificate.json", place(folder / "a.db")
    file.write_text(json.dumps(found))
    done = CliRunner().invoke(app, ["certificate", str(file), "--db", db])
    assert done.exit_code == 0 and "signed by this service" in done.output
    with closing(Database(db)) as database, database.write() as connection:
        connection.execute(sa.update(events).where(events.c.seq == 1203).values(digest=bytes(32)))
    done = CliRunner().invoke(app, ["certificate", str(file), "--db", db])
    assert done.exit_code == 1 and "is another one now" in done.output


def read_history(entries):
    history = History()
    for entry in entries:
        history.take(entry.event, entry.seq, entry.time)
    return history


def facts(history):
    """All that a history knows, comparable."""
    arms = {id: [vars(arm) | {"mean": arm.mean.state}] for id, arm in history.arms.items()}
    return vars(history) | {
        "arms": arms,
        "mean": history.mean.state,
        "observed": vars(history.observed) | {"arms": None},
    }


def test_the_history_is_the_same_read_at_once_or_in_parts(certified):
    *_, folder, entries = certified
    whole = read_history(entries)
    with closing(Database(place(folder / "a.db"))) as database:
        kept = Histories(database)
        for seq in (*range(100, len(entries), 100), len(entries)):
            with kept.until("shop", seq) as parts:
                assert parts.seq == seq
        with Histories(database).until("shop", len(entries)) as at_once:
            assert facts(whole) == facts(parts) == facts(at_once)
        with kept.until("shop", 100, exactly=True) as former:
            assert former.seq == 100
    assert whole.decisions == 601 and len(whole.points) <= POINTS
    assert (
        sum(arm.plays for arm in whole.arms.values()) == 601
        and sum(arm.rewards for arm in whole.arms.values()) == 600
    )
    assert whole.total == pytest.approx(
        sum(e.body["value"] for e in entries if e.kind == "rewarded")
    )
    assert [p.decisions for p in whole.curve()][-1] == 601
    with pytest.raises(ValueError, match="event 1 is missing"):
        read_history(entries[1:])


def test_intervals_and_regret_cover_the_truth():
    """The history of a coarse log, written here: bounds of three arms at all looks, in 6 runs
    (error 5 %: at most 2 may miss)."""
    import numpy as np

    from tightrope_service.events import Decided, Rewarded
    from tightrope_service.experiment import created
    from tightrope_service.spec import ExperimentSpec

    means, missed = np.array([0.2, 0.5, 0.7]), 0
    spec = ExperimentSpec.model_validate(
        {"name": "a", "policy": "UCB", "arms": [{"id": str(k)} for k in range(3)]}
    )
    for seed in range(6):
        rng, history = np.random.default_rng(seed), History()
        history.take(created(spec), 1, 0)
        ok = True
        for n in range(200):
            arm = int(rng.integers(3))
            history.take(
                Decided(str(n), arm, str(arm), 1 / 3, 0.0, "", 0, None, None, None, {}),
                2 * n + 2,
                n,
            )
            history.take(Rewarded(str(n), float(rng.random() < means[arm])), 2 * n + 3, n)
            if n % 20 == 19:
                bounds = history.intervals()
                ok &= all(low <= mu <= high for mu, (low, high) in zip(means, bounds, strict=True))
                arms, regret = list(history.arms.values()), history.regret()
                ok &= (
                    regret is None
                    or regret
                    >= sum(0.7 - means[k] for k in range(3) for _ in range(arms[k].rewards)) - 1e-9
                )
        missed += not ok
    assert missed <= 2


def test_the_shop_breaks_a_promise_that_nobody_keeps():
    """The planted opposite: a client that always asks the dearest price."""
    shop = Shop({"a": 0.5, "b": 0.1}, {"a": 1.0, "b": 1.0}, "a", 0.1)

    class Worst:
        def decide_many(self, number):
            return [type("Made", (), {"arm": "b", "id": str(k)}) for k in range(number)]

        def reward_many(self, rewards):
            return {}

    found = drive(Worst(), shop, 100)
    assert (
        found.lowest == pytest.approx(100 * (0.1 - 0.9 * 0.5))
        and found.baseline_share == 0.0
        and found.most_open > 50
    )


def test_a_bound_below_zero_is_explained_where_it_stands(service):
    create(service, PRICES | {"baseline": "low", "baseline_mean": 0.5, "alpha": 0.1})
    reward(service, decide(service)["id"], 0.0)
    standing, history = standing_and_history(service)
    history.lowest_budget = -0.1
    budget = certificate(standing, history, service.private_key, 0)["budget"]
    assert (
        budget["lowest_bound"] < 0
        and "does not say that the promise was broken" in budget["lowest_bound_means"]
    )
    history.lowest_budget, standing["holdings"]["budget_bound"] = 0.1, 0.2
    assert (
        "lowest_bound_means" not in certificate(standing, history, service.private_key, 0)["budget"]
    )
