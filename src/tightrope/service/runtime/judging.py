"""Judging a policy on an experiment's log, in a process of its own: kernels that it compiles and worlds that it fits make nobody wait."""

import base64
import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from typing import Any

from ...core.types import JsonObject
from ...logs import Log
from ..domain.errors import Refused, invalid
from ..domain.requests import EvaluationRequest

LONGEST = 120.0  # seconds
NICENESS = 10  # of the process, so that decisions go first
REMEDY = "export the log and judge it with tightrope evaluate, where nobody waits"


def judge_apart(log: Log, request: EvaluationRequest, baseline: str | None, seconds: float = LONGEST) -> JsonObject:
    """The result of `tr.evaluate`, or for a policy that learns of `tr.evaluate_learner`. baseline: an arm that it would replace.

    Raises Refused with the library's sentence, and where it takes longer than so many seconds.
    """
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_judge, args=(theirs, log, request, baseline), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            raise Refused(422, f"policy takes longer than {seconds:g} s to judge; {REMEDY}.", "policy")
        refused, answer = ours.recv()
    except EOFError:
        raise Refused(422, f"policy could not be judged: its process ended, for want of memory perhaps; {REMEDY}.", "policy") from None
    finally:
        process.kill()
        process.join()
        ours.close()
    if refused:
        raise invalid(ValueError(answer))
    record: JsonObject = answer
    return record


def _judge(connection: Connection, log: Log, request: EvaluationRequest, baseline: str | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the service's, which ends this process
    os.nice(NICENESS)
    try:
        connection.send((False, _record(log, request, baseline)))
    except ValueError as error:
        connection.send((True, str(error)))


def _record(log: Log, request: EvaluationRequest, baseline: str | None) -> JsonObject:
    from ...core.policy import is_policy, label
    from ...evaluation.evaluate import evaluate, evaluate_learner
    from ...evaluation.targets import policy_to_judge
    from ...session.session import Session

    if request.session is not None:
        try:
            data = base64.b64decode(request.session, validate=True)
        except ValueError:
            raise ValueError("session is not base64; encode the bytes that Session.to_bytes, or a file of Session.save, has.") from None
        target: Any = Session.from_bytes(data)
    else:
        target = policy_to_judge(request.policy, log, "policy")
    if is_policy(target):
        if request.method is None:
            raise ValueError(
                f"method is missing: {label(target)} learns while it plays. Give method = 'replay' (for logs whose arms were drawn "
                "uniformly) or 'simulate' (worlds fitted to the log), or a session, which is judged at its present state."
            )
        return evaluate_learner(
            log, target, method=request.method, alpha=request.alpha, bootstraps=request.bootstraps, seed=request.seed
        ).record()
    if request.method is not None:
        raise ValueError(f"method = {request.method!r} is for a policy that learns while it plays; leave it out.")
    return evaluate(log, target, baseline=baseline, estimator=request.estimator, alpha=request.alpha).record()
