"""Rehearsals: what requests can reach of an experiment's policy is compiled before the experiment begins, and not in the writer's thread.

A kernel is compiled anew for every kind of round: with and without features, a mask, a baseline of its own and that one's mean.
"""

import contextlib
import hashlib
import math
import threading
import time
from collections.abc import Iterator

import numpy as np

from ...core.policy import label
from ...core.types import JsonObject
from ..domain.deciding import decide
from ..domain.errors import Refused
from ..domain.events import ArmsAdded, Cancelled, Event, Expired, ModeChanged, Reward, Rewarded
from ..domain.experiment import created
from ..domain.requests import DecisionRequest
from ..domain.spec import ArmSpec, ExperimentSpec, Mode, check_size, made_oracle
from ..log.journal import ExperimentJournal

CANDIDATES = 3  # of a decision that brings its own
LENGTH = 0.1  # of its features, which policies with a promise bound
TRIES, MOST_SECONDS = 5, 0.1  # that are timed, and what one decision may take, which nothing can divide into parts
MOST_TRIES, MOST_LOOKING = 200, 2.0  # decisions, and seconds, until chances are drawn
FEW_ARMS = 1000  # arms that are not timed when they are added
MOST_CANDIDATES = 1000  # candidates of a rehearsal; a policy that plays more in a set is left to its first decision

_ARMS: JsonObject = {"arms": [{"id": "a"}, {"id": "b"}]}
_PROMISE: JsonObject = {"baseline": "a", "baseline_mean": 0.5, "alpha": 0.1, "rollout": {}}
COMMON: tuple[JsonObject, ...] = (  # kinds that are compiled when a service starts, the commonest first
    {"policy": {"policy": "EpsilonGreedy", "epsilon": 0.1}} | _PROMISE,
    {"policy": "BetaThompson"} | _PROMISE,
    {"policy": "BetaThompson"},
    {"policy": "UCB"},
    {"policy": "UCB"} | _PROMISE,
    {"policy": "LinUCB", "dimension": 2},
    {"policy": "LinTS", "dimension": 2},
)

_one_at_a_time = threading.Lock()  # a client that asks again while the first request compiles must not compile beside it
_rehearsed: set[bytes] = set()  # digests of specs, without what compiles nothing


def warm_up(spec: ExperimentSpec) -> None:
    """Play rounds of an experiment that nobody sees: its kernels are then compiled, or read from their cache.

    Takes some seconds the first time that a kind of policy runs on a machine, else milliseconds. What cannot be tried is left to
    the first decision. Raises ValueError where the spec describes no session.
    """
    kind = hashlib.sha256(spec.model_copy(update={"name": "any", "seed": 0}).model_dump_json().encode()).digest()
    with _one_at_a_time:
        if kind in _rehearsed:
            return
        created(spec)  # raises where it is none
        spec = spec.in_numbers()
        for mode in modes(spec):
            for one_row in (False, True) if one_row_fits(spec) else (False,):  # a regression for all arms, or one for each
                journal = ExperimentJournal(spec.name)
                journal.record(created(spec), 0)
                if mode != journal.experiment.rollout.mode:
                    journal.record(ModeChanged(mode, 0.5, False, "command", "", journal.experiment.rollout.mode), 0)
                for number, request in enumerate(sample_requests(spec, one_row)):
                    rehearse(journal, request, str(number))
                look(journal)
                check_seconds(journal, spec, one_row)
        _rehearsed.add(kind)


def common_specs() -> list[ExperimentSpec]:
    return [ExperimentSpec.model_validate({"name": "any"} | _ARMS | one) for one in COMMON]


def one_row_fits(spec: ExperimentSpec) -> bool:
    """Whether a decision may show all arms one row of features."""
    return spec.dimension is not None and spec.arms is not None and spec.oracle is None and len(spec.arms) > 1


def grows_large(spec: ExperimentSpec, more: list[ArmSpec]) -> bool:
    return len(spec.arms or ()) + len(more) >= FEW_ARMS


def check_growth(spec: ExperimentSpec, more: list[ArmSpec]) -> None:
    """Raise ValueError where a decision among more arms takes too long, or their state too much. spec: of the experiment as it began. more:
    arms that were, or will be, added to it."""
    arms = len(spec.arms or ()) + len(more)
    spec = spec.in_numbers()
    with _one_at_a_time:
        journal = ExperimentJournal(spec.name)
        journal.record(created(spec), 0)
        check_size(spec, journal.experiment.session.policy, arms)
        if journal.experiment.rollout.mode != "full":
            journal.record(ModeChanged("full", 0.5, False, "command", "", journal.experiment.rollout.mode), 0)
        journal.record(ArmsAdded([arm.model_dump(exclude_none=True) for arm in more]), 0)
        grown = spec if spec.arms is None else spec.model_copy(update={"arms": [*spec.arms, *more]})
        check_seconds(journal, grown)


def check_seconds(journal: ExperimentJournal, spec: ExperimentSpec, one_row: bool = False) -> None:
    """Raise ValueError where a decision takes so long, now that nothing has to be compiled, that others would wait for it.

    A policy that keeps a budget plays its baseline first, which is cheap. So decisions are rewarded as well as can be until some are made
    whose chances are drawn.
    """
    request, most = next(sample_requests(spec, one_row)), (journal.experiment.reward_range or (0.0, 1.0))[1]
    seconds: dict[bool, list[float]] = {False: [], True: []}  # of decisions, and of those whose chances were drawn
    ended = time.perf_counter() + MOST_LOOKING
    for number in range(MOST_TRIES):
        began = time.perf_counter()
        try:
            prepared = decide(journal.experiment, f"timed {number}", request, 0)
        except (Refused, ValueError):
            return
        took = time.perf_counter() - began
        has_draws = bool(np.any(np.asarray(prepared.event.propensity_se) > 0.0))
        seconds[has_draws].append(took)
        enough = len(seconds[True]) >= TRIES or (journal.experiment.holdings() is None and number >= TRIES)
        if enough or began > ended:
            break
        journal.record(prepared, 0)
        reward: Reward = most if isinstance(prepared.event.arm, int) else dict.fromkeys(prepared.event.name, most)
        journal.record(Rewarded(prepared.event.decision, reward), 0)
    least = min(seconds[True] or seconds[False])
    if least <= MOST_SECONDS:
        return
    raise ValueError(
        f"policy = {label(journal.experiment.session.policy)} takes {least:.2g} s for a decision among {len(spec.arms or ()):,} arms, "
        f"in which all other requests wait; {MOST_SECONDS:g} s are allowed. Use fewer arms, fewer features or a policy that draws nothing, "
        "such as LinUCB."
    )


def modes(spec: ExperimentSpec) -> list[Mode]:
    """Modes in which an experiment decides by other calls: beside a baseline, whose own chance it measures or not, and alone."""
    if spec.oracle is not None or (spec.arms is not None and spec.rollout is None and not isinstance(spec.baseline, str)):
        return ["full"]
    return ["full", "capped"]


def rehearse(journal: ExperimentJournal, request: DecisionRequest, id: str) -> None:
    for ending in ("rewarded", "cancelled", "expired"):
        with contextlib.suppress(Refused, ValueError):
            prepared = decide(journal.experiment, f"{id} {ending}", request, 0)
            journal.record(prepared, 0)
            journal.record(end(ending, prepared.event.decision, prepared.event.arm, prepared.event.name, journal), 0)


def end(ending: str, id: str, arm: int | list[int], names: list[str], journal: ExperimentJournal) -> Event:
    if ending == "cancelled":
        return Cancelled(id)
    if ending == "expired":
        return Expired(id, journal.experiment.spec.default_reward)
    least = (journal.experiment.reward_range or (0.0, 1.0))[0]
    return Rewarded(id, least if isinstance(arm, int) else dict.fromkeys(names, least))


def look(journal: ExperimentJournal) -> None:
    session = journal.experiment.session
    with contextlib.suppress(ValueError):
        journal.experiment.holdings()
    with contextlib.suppress(ValueError):
        session.view().explain()
    if type(session.policy).TRAITS.stops:
        with contextlib.suppress(ValueError):
            session.view().recommend()


def sample_requests(spec: ExperimentSpec, one_row: bool = False) -> Iterator[DecisionRequest]:
    """Requests of every kind that fit the spec; what does not fit after all is refused when it is tried. one_row: for all arms."""
    fields: JsonObject = {}
    ids = [arm.id for arm in spec.arms or ()]
    if spec.dimension is not None:
        if spec.arms is None:
            oracle = made_oracle(spec)
            size = 0 if oracle is None else int(getattr(oracle, "size", 0))
            ids = [str(k) for k in range(CANDIDATES + min(size, MOST_CANDIDATES))]
        short = LENGTH / math.sqrt(spec.dimension)
        rows = {id: [short / (k + 1)] * spec.dimension for k, id in enumerate(ids)}
        fields = {"context": [short] * spec.dimension if one_row else rows}
    spare = next((id for id in reversed(ids) if id != spec.baseline and id not in (spec.baseline or ())), None)
    masks: list[JsonObject] = [{}] if spare is None or len(ids) < 2 else [{}, {"excluded": [spare]}]
    baselines: list[JsonObject] = [{}]
    if spec.rounds_have_baselines and ids:
        baselines += [{"baseline": ids[0]}, {"baseline": ids[0], "baseline_mean": 0.5}]
    for baseline in baselines:
        for mask in masks:
            yield DecisionRequest(**fields, **mask, **baseline)
