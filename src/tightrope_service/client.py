"""`Client`: the methods of a session, over HTTP. Needs httpx only.

Ids are made here before anything is sent, so that a request whose answer was lost can be sent
again: the service answers an id it knows with what it answered before.
"""

import base64
import dataclasses
import heapq
import math
import random
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import quote

import numpy as np
from numpy.typing import ArrayLike

from . import JsonObject, new_id, require

require(("httpx",))

import httpx  # noqa: E402  after the sentence for those who do not have it

RETRIED = (429, 502, 503, 504)
JUDGING_SECONDS = 180.0  # that one attempt to judge a policy may take
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0  # seconds
MOST_ITEMS = 10_000  # items of one batch

Features = (
    ArrayLike | Mapping[str, object] | Sequence[Mapping[str, object]]
)  # numbers or values by name; rows, or rows by arm


class Rejected(ValueError):
    """The service refused a request, in one sentence. status: HTTP's. code: for programs. field:
    what it is about."""

    def __init__(self, status: int, code: str, message: str, field: str | None) -> None:
        super().__init__(message)
        self.status, self.code, self.field = status, code, field


class Unavailable(ConnectionError):
    """The service did not answer, or had no time, however often it was asked."""


@dataclasses.dataclass(frozen=True, slots=True)
class RemoteDecision:
    """A decision of the service. arm: the id of an arm, or a list of ids. event: its place in the
    log. policy_version: rewards that the policy had learned. expires_at: when its window closes, as
    text in UTC. draws: that the propensity was sampled by; None: it is exact."""

    id: str
    arm: Any
    propensity: Any
    propensity_se: Any
    reason: str
    event: int
    policy_version: int
    expires_at: str | None
    draws: int | None = None

    @property
    def name(self) -> Any:
        """The arm, as `Decision` calls it."""
        return self.arm


class Client:
    """One experiment of a service.

    url: such as "http://127.0.0.1:8080"; several, for processes on one database: where one does not
    answer, or another one serves the experiment, that one is asked.
    key: one that may decide; what changes an experiment needs one that may admin. experiment: its
    name. timeout: seconds for one attempt. attempts: how often a request is sent before
    `Unavailable` is raised.

    A refused request raises `Rejected`, a ValueError with the service's sentence. Safe to share
    between threads.

    Some methods of a session have no counterpart. `close` closes the connections: the service
    closes decisions by the experiment's window, so neither is there `expire`; `is_open`, `known`
    and `answered` are in `open` and `log`, `arms` and `catalogue` in `describe`. `select` and
    `update` have no id, by which a request can be sent again, so that `played` would count nothing;
    `waiting` is the length of `open`, and `decided` and `rounds` are `decisions` and `rewards` of
    `describe`. `encoder` is the spec's `features`. `stopped` is the status of `recommend`, and
    `explain` has the `probability` of `propensities`. `learn`, `merge`, `adopt`, `follow`,
    `decide_beside` and `forget_round` would change a state that the log does not explain. `fork`,
    `save`, `load`, `to_bytes`, `from_bytes`, `state`, `view`, `point` and `arm_at` need the session
    itself: `tightrope log replay --save` writes it.
    """

    def __init__(
        self,
        url: str | Sequence[str],
        key: str,
        experiment: str | None = None,
        *,
        timeout: float = 5.0,
        attempts: int = 6,
    ) -> None:
        self.urls = [url.rstrip("/")] if isinstance(url, str) else [one.rstrip("/") for one in url]
        if not self.urls or attempts < 1:
            raise ValueError(
                "url and attempts are empty; give at least one address and one attempt."
            )
        self.experiment, self.attempts, self.timeout = experiment, attempts, timeout
        self._http = httpx.Client(headers={"Authorization": f"Bearer {key}"})
        self._random = random.Random(secrets.randbits(128))
        self._at = 0  # the address that answered last
        self._arms: list[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # Experiments ----------------------------------------------------------------------------------

    def create(self, spec: Mapping[str, object]) -> JsonObject:
        """Create the experiment of a spec and talk about it from now on; the same spec again
        changes nothing.

        Waits while the service compiles the policy, which may take a minute or two.
        """
        while (created := self._send("POST", "/v1/experiments", dict(spec)))[
            "status"
        ] == "compiling":
            time.sleep(FIRST_PAUSE)
        self.experiment, self._arms = created["name"], None
        return created

    def experiments(self) -> list[str]:
        """Names of all experiments."""
        return [one["name"] for one in self._send("GET", "/v1/experiments")["experiments"]]

    def describe(self) -> JsonObject:
        """The experiment: spec, status, arms, counts."""
        return self._send("GET", self._path())

    def pause(self) -> None:
        """Decide no more for now."""
        self._send("POST", self._path("/pause"))

    def resume(self) -> None:
        """Decide again."""
        self._send("POST", self._path("/resume"))

    def archive(self) -> None:
        """End the experiment for good."""
        self._send("POST", self._path("/archive"))

    # Webhooks -------------------------------------------------------------------------------------

    def create_webhook(
        self,
        url: str,
        events: Sequence[str] | None = None,
        experiments: Sequence[str] | None = None,
        note: str = "",
    ) -> JsonObject:
        """Tell an address what happens in experiments from now on. events: "mode.changed",
        "promise.at_risk", "winner.known" and "experiment.stopped"; None: all. experiments: names
        and patterns such as "shop-*"; None: all that the key is for. The `secret` of the answer,
        which messages are signed with, is shown only this once."""
        return self._send(
            "POST",
            "/v1/webhooks",
            given(
                url=url,
                events=None if events is None else list(events),
                experiments=None if experiments is None else list(experiments),
                note=note,
            ),
        )

    def webhooks(self) -> list[JsonObject]:
        """All webhooks that the key is for, with how many of their messages wait and have
        failed."""
        return list(self._send("GET", "/v1/webhooks")["webhooks"])

    def remove_webhook(self, id: int) -> None:
        """Tell it nothing any more."""
        self._send("DELETE", f"/v1/webhooks/{id}")

    def deliveries(self, webhook: int, limit: int = 100) -> list[JsonObject]:
        """The last messages of a webhook, the newest first, and what became of them."""
        return list(
            self._send("GET", f"/v1/webhooks/{webhook}/deliveries", params={"limit": limit})[
                "deliveries"
            ]
        )

    def retry_deliveries(self, webhook: int) -> int:
        """Try the messages of a webhook that have failed for another day; returns how many."""
        return int(self._send("POST", f"/v1/webhooks/{webhook}/retry")["retried"])

    # Arms -----------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """Ids of all arms, also retired ones."""
        return [arm["id"] for arm in self.describe()["arms"]]

    @property
    def retired(self) -> list[str]:
        """Arms that are not played."""
        return [arm["id"] for arm in self.describe()["arms"] if arm["status"] != "active"]

    def add_arms(self, names: Sequence[str], features: ArrayLike | None = None) -> None:
        """Add arms, 10,000 a commit. features: (n, d), where arms have fixed ones."""
        rows = (
            [None] * len(names)
            if features is None
            else np.asarray(features, dtype=np.float64).tolist()
        )
        arms = [given(id=name, features=row) for name, row in zip(names, rows, strict=True)]
        for first in range(0, len(arms), MOST_ITEMS):
            self._send("POST", self._path("/arms"), {"arms": arms[first : first + MOST_ITEMS]})
        self._arms = None

    def retire(self, arm: str) -> None:
        """Stop playing an arm; late rewards are still taken in."""
        self._change(arm, "retired")

    def mask(self, arm: str) -> None:
        """Do not play an arm for now."""
        self._change(arm, "masked")

    def restore(self, arm: str) -> None:
        """Play it again."""
        self._change(arm, "active")

    def _change(self, arm: str, status: str) -> None:
        self._send("PATCH", self._path(f"/arms/{quoted(arm)}"), {"status": status})

    # Decisions and rewards ------------------------------------------------------------------------

    def decide(
        self,
        context: Features | None = None,
        eligible: Iterable[str] | np.ndarray | None = None,
        id: str | None = None,
        *,
        excluded: Iterable[str] | None = None,
        deferred: bool = False,
        subject: str | None = None,
        baseline: str | None = None,
        baseline_mean: float | None = None,
        segments: Mapping[str, str] | None = None,
    ) -> RemoteDecision:
        """Which arm to play. context: (K, d) features or {arm: features}, where they change; (d,)
        for one row that all arms are shown. Where the spec has features, a row is a dict of values
        by name; None and NaN are missing. eligible: ids, or a mask of all arms.
        excluded: ids. id: your own; else made here. deferred: counts only after `activate`.
        subject: whose data it is. segments: values by the names of the spec."""
        question = self._question(
            id,
            context,
            eligible,
            excluded,
            segments,
            deferred,
            subject=subject,
            baseline=baseline,
            baseline_mean=baseline_mean,
        )
        return RemoteDecision(**self._send("POST", self._path("/decisions"), question))

    def decide_many(self, number: int, **arguments: Any) -> list[RemoteDecision]:
        """So many decisions of the same question, 10,000 a commit; the arguments of `decide` but
        id."""
        decisions: list[RemoteDecision] = []
        for first in range(0, number, MOST_ITEMS):
            questions = [
                self._question(id=None, **arguments) for _ in range(min(MOST_ITEMS, number - first))
            ]
            results = self._send("POST", self._path("/decisions:batch"), {"decisions": questions})
            decisions += [RemoteDecision(**taken(result)) for result in results["results"]]
        return decisions

    def _question(
        self,
        id: str | None,
        context: Features | None = None,
        eligible: Iterable[str] | np.ndarray | None = None,
        excluded: Iterable[str] | None = None,
        segments: Mapping[str, str] | None = None,
        deferred: bool = False,
        **rest: object,
    ) -> JsonObject:
        return given(
            **rest,
            id=new_id() if id is None else id,
            context=features(context),
            eligible=self._ids(eligible),
            excluded=None if excluded is None else list(excluded),
            deferred=deferred or None,
            segments=None if segments is None else dict(segments),
        )

    def _ids(self, eligible: Iterable[str] | np.ndarray | None) -> list[str] | None:
        if isinstance(eligible, np.ndarray) and eligible.dtype == np.bool_:
            if self._arms is None or len(self._arms) != len(eligible):
                self._arms = self.names
            return [name for name, yes in zip(self._arms, eligible.tolist(), strict=True) if yes]
        return None if eligible is None else list(eligible)

    def reward(
        self, id: str, value: float | Mapping[str, float], reward_id: str | None = None
    ) -> bool:
        """Report the reward of a decision; a set's by arm, or several numbers by metric. Returns
        False where the same was taken in before."""
        body = given(decision_id=id, value=plain(value), reward_id=reward_id)
        return bool(self._send("POST", self._path("/rewards"), body)["learned"])

    def reward_many(
        self, rewards: Mapping[str, float | Mapping[str, float]]
    ) -> dict[str, bool | Rejected]:
        """Many rewards by decision, 10,000 a commit. Returns for each what `reward` would return,
        or the error it would raise."""
        answers: dict[str, bool | Rejected] = {}
        items = list(rewards.items())
        for first in range(0, len(items), MOST_ITEMS):
            part = items[first : first + MOST_ITEMS]
            body = [{"decision_id": id, "value": plain(value)} for id, value in part]
            told = self._send("POST", self._path("/rewards:batch"), {"rewards": body})
            for (id, _), result in zip(part, told["results"], strict=True):
                answers[id] = (
                    bool(result["answer"]["learned"])
                    if result["status"] == 200
                    else rejected(result["status"], result)
                )
        return answers

    def cancel(self, id: str) -> None:
        """It was never shown: the policy is as it was without it."""
        self._send("DELETE", self._path(f"/decisions/{quoted(id)}"))

    def activate(self, id: str) -> None:
        """A deferred decision was shown."""
        self._send("POST", self._path(f"/decisions/{quoted(id)}/activate"))

    @property
    def open(self) -> list[str]:
        """Ids of decisions that wait for rewards, the first to expire first; at most 10,000."""
        return [one["id"] for one in self._send("GET", self._path("/open"))["open"]]

    # Reading --------------------------------------------------------------------------------------

    def explain(self, decision: str | None = None) -> JsonObject:
        """Per-arm arrays as `Session.explain` gives them, now or just before a decision; `arms` are
        their ids."""
        answer = self._send("GET", self._path("/explain"), params=given(decision=decision))
        return {"arms": answer["arms"]} | {
            name: arrays(value) for name, value in answer["explanation"].items()
        }

    def recommend(self) -> JsonObject:
        """The arm that an identification policy names, and what supports it, as `Session.recommend`
        tells; `arm` is its id."""
        return self._send("GET", self._path("/recommendation"))

    def state(self, seq: int | None = None) -> JsonObject:
        """Counts and the fingerprint of the state, now or after an event of the past."""
        return self._send("GET", self._path("/state"), params=given(seq=seq))

    def segments(self) -> JsonObject:
        """Results by segment: counts in `segments`, and in `arms` a line for every arm in each,
        with mean, interval and lift; in `promises` the budget of each value that has its own."""
        return self._send("GET", self._path("/segments"))

    def log(self, first: int = 1) -> Iterator[JsonObject]:
        """Events from one on."""
        at: int | None = first
        while at is not None:
            part = self._send("GET", self._path("/log"), params={"from": at})
            yield from part["events"]
            at = part["next"]

    def evaluate(self, arm: str, **options: str | float | None) -> JsonObject:
        """The estimated reward of always playing an arm; options: baseline, estimator, lowest,
        highest, alpha."""
        return self._send("GET", self._path("/evaluate"), params={"arm": arm} | options)

    def evaluate_policy(
        self,
        policy: Mapping[str, object] | None = None,
        session: bytes | None = None,
        method: str | None = None,
        **options: str | float | None,
    ) -> JsonObject:
        """The estimated reward of any policy.

        policy: as in a policy file of `tightrope evaluate`, such as {"policy": "LinTS"} with a
        method, or {"probabilities": [0.5, 0.5]}.
        session: what Session.to_bytes wrote, judged at its present state. method: "replay" or
        "simulate", for a policy that learns.
        options: baseline, estimator, lowest, highest, alpha, bootstraps, seed. Takes up to two
        minutes.
        """
        body = given(
            policy=None if policy is None else dict(policy),
            session=None if session is None else base64.b64encode(session).decode(),
            method=method,
        )
        return self._send("POST", self._path("/evaluate"), body | options, timeout=JUDGING_SECONDS)

    def erase(self, subject: str) -> int:
        """Blank what the log knows of a subject; returns how many events."""
        return int(self._send("POST", self._path("/erase"), {"subject": subject})["erased"])

    # Sending --------------------------------------------------------------------------------------

    def _path(self, rest: str = "") -> str:
        if self.experiment is None:
            raise ValueError(
                "experiment is missing; name it in Client(.., experiment=..), or create one."
            )
        return f"/v1/experiments/{quoted(self.experiment)}{rest}"

    def _send(
        self,
        method: str,
        path: str,
        body: object = None,
        params: Mapping[str, str | float | None] | None = None,
        timeout: float | None = None,
    ) -> JsonObject:
        limit = self.timeout if timeout is None else timeout
        pause, why = FIRST_PAUSE, ""
        for attempt in range(self.attempts):
            if attempt:
                time.sleep(pause * (0.5 + self._random.random() / 2))
                pause = min(2 * pause, LONGEST_PAUSE)
            try:
                answer = self._http.request(
                    method,
                    self.urls[self._at % len(self.urls)] + path,
                    json=body,
                    params=params,
                    timeout=limit,
                )
            except httpx.TransportError as error:
                why = f"{type(error).__name__}: {error}"
                self._at += 1
                continue
            if answer.status_code in RETRIED:
                why = f"status {answer.status_code}"
                holder = answer.headers.get("X-Tightrope-Served-By", "").rstrip("/")
                if holder in self.urls:
                    self._at, pause = self.urls.index(holder), FIRST_PAUSE
                    continue
                if answer.status_code != 429:
                    self._at += 1
                waits = answer.headers.get("Retry-After", "")
                if waits.isdigit() and (attempt + 1) % len(self.urls) == 0:
                    pause = min(max(pause, float(waits)), LONGEST_PAUSE)
                continue
            content = {} if answer.status_code == 204 else read(answer)
            if answer.is_success:
                return content
            raise rejected(answer.status_code, content)
        raise Unavailable(
            f"{self.urls[0]} did not answer {method} {path} after {self.attempts} attempts ({why})."
        )


def read(answer: httpx.Response) -> JsonObject:
    """The JSON of an answer. Raises Rejected where it is not the service's."""
    try:
        body = answer.json()
    except ValueError:
        body = None
    if isinstance(body, dict):
        return body
    raise Rejected(
        answer.status_code,
        "not_json",
        f"url = {str(answer.request.url)!r} answered with status {answer.status_code} and no JSON "
        "of this service; give the address of `tightrope serve`, and look at what stands between.",
        None,
    )


def given(**fields: object) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}


def plain(reward: float | Mapping[str, float]) -> object:
    return dict(reward) if isinstance(reward, Mapping) else float(reward)


def quoted(part: str) -> str:
    return quote(part, safe="")


def features(context: object) -> object:
    if isinstance(context, Mapping):
        if not any(isinstance(row, Mapping) or np.ndim(row) for row in context.values()):
            return {str(name): single(value) for name, value in context.items()}
        return {str(name): features(row) for name, row in context.items()}
    if isinstance(context, Sequence) and any(isinstance(row, Mapping) for row in context):
        return [features(row) for row in context]
    return None if context is None else np.asarray(context, dtype=np.float64).tolist()


def single(value: object) -> object:
    """A value of a row as JSON has it: times as text, what is missing as null."""
    if hasattr(value, "isoformat"):
        text = value.isoformat()
        return None if text == "NaT" else text
    number = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(number, float) and number != number else number


def arrays(value: object) -> object:
    """Lists of numbers as arrays, where null is NaN."""
    if isinstance(value, dict):
        return {name: arrays(item) for name, item in value.items()}
    if (
        isinstance(value, list)
        and value
        and all(item is None or isinstance(item, bool | int | float) for item in value)
    ):
        return np.array([np.nan if item is None else item for item in value])
    return value


def rejected(status: int, body: JsonObject) -> Rejected:
    error = body.get("error") or {}
    return Rejected(status, str(error.get("code")), str(error.get("message")), error.get("field"))


def taken(result: JsonObject) -> JsonObject:
    if result["status"] != 200:
        raise rejected(result["status"], result)
    answer: JsonObject = result["answer"]
    return answer


# A simulated shop as traffic: customers ask for a price, some buy, and the shop hears of it later.
# It knows the truth, so it can say what the policy's caution was worth: the true budget, sum of
# mu(arm played) - (1 - alpha) sum of mu(baseline).


COST = 6.0  # of the thing that is sold
UNIT = 10.0  # a margin of so much is a reward of 1
BUYERS = {
    "9.90": 0.50,
    "10.90": 0.46,
    "11.90": 0.43,
    "12.90": 0.30,
    "14.90": 0.12,
}  # who pays a price


@dataclasses.dataclass(frozen=True)
class Shop:
    """buyers: share of customers who buy, by arm. values: reward of a sale, by arm. season: the
    share of buyers swings by so much around that, once in `day` decisions. baseline: the arm in
    production. alpha: of the promise. conversion: share of the sales that may be lost, where that
    is promised too."""

    buyers: Mapping[str, float]
    values: Mapping[str, float]
    baseline: str
    alpha: float
    season: float = 0.0
    day: int = 1000
    conversion: float | None = None

    def share(self, arm: str, decision: int) -> float:
        return min(
            self.buyers[arm] * (1.0 + self.season * math.sin(2.0 * math.pi * decision / self.day)),
            1.0,
        )

    def mean(self, arm: str, decision: int) -> float:
        return self.share(arm, decision) * self.values[arm]

    def spec(
        self,
        name: str,
        guarded: bool = True,
        rollout: bool = True,
        policy: JsonObject | str | None = None,
        seed: int = 1,
    ) -> JsonObject:
        """The experiment of this shop. guarded: with the promise. rollout: begin as an apprentice,
        then rules."""
        spec: JsonObject = {
            "name": name,
            "policy": {"policy": "EpsilonGreedy", "epsilon": 0.1} if policy is None else policy,
            "arms": [{"id": arm} for arm in self.buyers],
            "baseline": self.baseline,
            "window": "1h",
            "default_reward": 0.0,
            "seed": seed,
        }
        if guarded:
            spec |= {
                "alpha": self.alpha,
                "baseline_mean": self.mean(self.baseline, 0),
                "rewards": [0.0, max(self.values.values())],
            }
        if guarded and self.conversion is not None:
            sales = self.share(self.baseline, 0)
            spec |= {
                "metrics": {"margin": spec.pop("rewards"), "sale": [0.0, 1.0]},
                "baseline_mean": {"margin": spec["baseline_mean"], "sale": sales},
                "promises": [
                    {"alpha": spec.pop("alpha")},
                    {"metric": "sale", "alpha": self.conversion},
                ],
                "default_reward": {"margin": 0.0, "sale": 0.0},
            }
        if rollout:
            spec["rollout"] = {
                "mode": "apprentice",
                "share": 0.5,
                "promote": {
                    "apprentice": {"after": 200},
                    "shadow": {"after": 300},
                    "capped": {"after": 1000, "better": True},
                },
            }
        return spec


def price_shop(season: float = 0.0, alpha: float = 0.1, conversion: float | None = None) -> Shop:
    """Five prices of one thing; a sale is worth its margin."""
    margins = {price: (float(price) - COST) / UNIT for price in BUYERS}
    return Shop(BUYERS, margins, "9.90", alpha, season, conversion=conversion)


class Truth(NamedTuple):
    """The true outcome of traffic. budget: at the end. lowest: over all rounds. lowest_sales: of
    the budget of sales. most_open: decisions that waited at once."""

    decisions: int
    rewards: int
    mean: float
    best: float
    budget: float
    lowest: float
    lowest_sales: float
    baseline_share: float
    most_open: int
    seconds: float


def drive(
    client: Client,
    shop: Shop,
    decisions: int,
    *,
    delay: int = 200,
    batch: int = 20,
    seed: int = 0,
    per_second: float | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Truth:
    """Send traffic and keep the true books.

    delay: decisions after which a sale is heard of, on average (exponential, sales; twice that
    without a sale, so that delay and reward are not independent); 0: at once. batch: decisions of
    one request. per_second: at most so many decisions. progress: is told decisions and true budget.
    """
    rng = np.random.default_rng(seed)
    # due, decision, reward
    waiting: list[tuple[float, str, float | dict[str, float]]] = []
    budget = lowest = sales = lowest_sales = best = mean = 0.0
    baseline_plays = rewards = most_open = count = 0
    began = time.monotonic()
    while count < decisions:
        for decision in client.decide_many(min(batch, decisions - count)):
            mu = shop.mean(decision.arm, count)
            budget += mu - (1.0 - shop.alpha) * shop.mean(shop.baseline, count)
            lowest, mean = min(lowest, budget), mean + mu
            owed = (1.0 - (shop.conversion or 0.0)) * shop.share(shop.baseline, count)
            sales += shop.share(decision.arm, count) - owed
            lowest_sales = min(lowest_sales, sales)
            best += max(shop.mean(arm, count) for arm in shop.buyers)
            baseline_plays += decision.arm == shop.baseline
            sold = rng.random() < shop.share(decision.arm, count)
            margin = shop.values[decision.arm] if sold else 0.0
            value = margin if shop.conversion is None else {"margin": margin, "sale": float(sold)}
            heapq.heappush(
                waiting,
                (count + rng.exponential(delay if sold else 2.0 * delay), decision.id, value),
            )
            count += 1
        most_open = max(most_open, len(waiting))
        rewards += deliver(client, waiting, count)
        if progress is not None:
            progress(count, budget)
        if per_second is not None:
            time.sleep(max(0.0, began + count / per_second - time.monotonic()))
    rewards += deliver(client, waiting, math.inf)
    return Truth(
        count,
        rewards,
        mean / count,
        best / count,
        budget,
        lowest,
        lowest_sales,
        baseline_plays / count,
        most_open,
        time.monotonic() - began,
    )


def deliver(
    client: Client, waiting: list[tuple[float, str, float | dict[str, float]]], now: float
) -> int:
    due: dict[str, float | dict[str, float]] = {}
    while waiting and waiting[0][0] <= now:
        _, id, value = heapq.heappop(waiting)
        due[id] = value
    if due:
        client.reward_many(due)
    return len(due)
