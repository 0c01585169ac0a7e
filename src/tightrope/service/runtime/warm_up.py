"""Warming up before an experiment begins: what its first decision would have to wait for is compiled by then."""

import contextlib
import threading
from collections.abc import Iterator

from ..domain.deciding import decide
from ..domain.errors import Refused
from ..domain.events import Created, Rewarded
from ..domain.requests import DecisionRequest
from ..domain.spec import ExperimentSpec, made_oracle
from ..log.journal import Journal
from .garbage_collection import freeze
from .settings import Settings

CANDIDATES = 2  # of a decision that brings its own
MOST = 1000  # candidates of a warm-up; a policy that plays more in a set is left to its first decision
ID = "warm-up"

_one_at_a_time = threading.Lock()  # a client that asks again while the first request compiles must not compile beside it


def warm_up(spec: ExperimentSpec, settings: Settings) -> None:
    """Play a round of an experiment that nobody sees: its kernels are then compiled, or read from their cache.

    Takes some seconds the first time that a kind of policy runs on a machine, else milliseconds. What cannot be tried is left to
    the first decision. Raises ValueError where the spec describes no session.
    """
    with _one_at_a_time:
        for request in sample_requests(spec):
            journal = Journal(spec.name)
            journal.record(Created(spec.plain()), 0)
            with contextlib.suppress(Refused, ValueError):
                prepared = decide(journal.experiment, ID, request, 0)
                journal.record(prepared, 0)
                arm, names = prepared.event.arm, prepared.event.name
                journal.record(Rewarded(ID, 0.0 if isinstance(arm, int) else dict.fromkeys(names, 0.0)), 0)
                break
        freeze(settings)


def sample_requests(spec: ExperimentSpec) -> Iterator[DecisionRequest]:
    """Requests that fit the spec; where candidates come with every decision, the second one names a baseline too."""
    if spec.dimension is None:
        yield DecisionRequest()
        return
    ids = [str(k) for k in range(CANDIDATES)] if spec.arms is None else [arm.id for arm in spec.arms]
    oracle = made_oracle(spec) if spec.arms is None else None
    size = 0 if oracle is None else int(getattr(oracle, "size", 0))
    ids += [f"more {k}" for k in range(min(size, MOST))]
    context = {id: [1.0 / (k + 1)] * spec.dimension for k, id in enumerate(ids)}
    yield DecisionRequest(context=context)
    yield DecisionRequest(context=context, baseline=ids[0], baseline_mean=0.5)
