"""A rehearsal before an experiment begins: what its first decision would have to wait for is compiled by then."""

import contextlib
import threading
from collections.abc import Iterator

from .collector import keep_what_is_there
from .errors import Refused
from .experiment import Experiment
from .requests import DecisionRequest
from .settings import Settings
from .spec import ExperimentSpec, check_new, made_oracle

CANDIDATES = 2  # of a decision that brings its own
MOST = 1000  # candidates of a rehearsal; a policy that plays more in a set is left to its first decision
ID = "rehearsal"

_one_at_a_time = threading.Lock()  # a client that asks again while the first request compiles must not compile beside it


def rehearse(spec: ExperimentSpec, settings: Settings) -> None:
    """Play a round of an experiment that nobody sees: its kernels are then compiled, or read from their cache.

    Takes some seconds the first time that a kind of policy runs on a machine, else milliseconds. What cannot be rehearsed is left to
    the first decision. Raises ValueError where the spec describes no session.
    """
    check_new(spec)
    with _one_at_a_time:
        for asked in questions(spec):
            live = Experiment(spec.name)
            live.record("created", 0, {"spec": spec.plain()})
            with contextlib.suppress(Refused, ValueError):
                live.decide(ID, asked, 0)
                arm, names = live.told["arm"], live.told["name"]
                live.record("rewarded", 0, {"value": 0.0 if isinstance(arm, int) else dict.fromkeys(names, 0.0)}, ID)
                break
        keep_what_is_there(settings)


def questions(spec: ExperimentSpec) -> Iterator[DecisionRequest]:
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
