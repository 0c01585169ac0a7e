"""Arguments of `simulate` and `identify`, checked once: problems, policies and monitors for every replication, sizes."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeGuard, TypeVar, cast

from ..core import checks
from ..core.matching import check_fit
from ..core.monitor import Monitor
from ..core.policy import Policy, is_policy, is_policy_class, label
from ..core.problem import Problem
from ..core.streams import PROBLEM, stream
from ..core.verbs import Context, admit, begin, describe, init, observe, private
from ..problems.problem import read_only
from .monitors import NoMonitor

T = TypeVar("T")
Policies: TypeAlias = Mapping[str, Policy | Callable[..., Policy]] | Sequence[Policy] | Policy
Monitors: TypeAlias = Mapping[str, Monitor | Callable[..., Monitor] | None] | Monitor | Callable[..., Monitor] | None


@dataclass(frozen=True)
class PerProblem(Generic[T]):
    """A policy or monitor for every problem, made once: the same for all, or what a function of the problem returned."""

    function: str | None  # its name; None: the same for all
    items: Sequence[T]

    @staticmethod
    def of(source: T | Callable[[Problem], T], problems: Sequence[Problem], is_item: Callable[[object], TypeGuard[T]]) -> "PerProblem[T]":
        if is_item(source) or is_policy_class(source) or not callable(source):
            return PerProblem(None, [cast(T, source)])
        return PerProblem(getattr(source, "__qualname__", repr(source)), [source(_locked(problem)) for problem in problems])

    def __getitem__(self, replication: int) -> T:
        return self.items[replication % len(self.items)]


def _locked(problem: Problem) -> Problem:
    """The problem as a function of it may read it: what its kernels write into is a copy, everything else is read-only."""
    written = getattr(problem, "WRITTEN", ())
    return problem._replace(**{name: read_only(getattr(problem, name)) for name in written}) if written else problem


def as_problems(problem: Problem | Sequence[Problem]) -> Sequence[Problem]:
    several = isinstance(problem, list | tuple) and not hasattr(problem, "_fields")
    problems: list[Problem] = list(problem) if several else [problem]  # type: ignore[list-item, arg-type]
    if not problems:
        raise ValueError("problem is an empty list; it needs at least one problem.")
    for item in problems:
        if not describe.answers(item):
            raise ValueError(f"problem = {checks.show(item)} is not a problem; pass one such as problems.Bernoulli([0.3, 0.6]).")
    if len({type(item) for item in problems}) > 1:
        raise ValueError("problem is a list of different kinds; all of them must be of one class.")
    numbers = {describe(item).number for item in problems}
    if len(numbers) > 1:
        raise ValueError(f"problem is a list with {min(numbers)} to {max(numbers)} arms; all of them must have as many.")
    return problems


def as_policies(policies: Policies, problems: Sequence[Problem], horizon: int | None) -> dict[str, PerProblem[Policy]]:
    """Names and policies, given or made by functions of the problem, checked against what the problems offer and first show."""
    if is_policy(policies):
        policies = [policies]
    if isinstance(policies, list | tuple) and policies and all(map(is_policy, policies)):
        policies = _by_class(policies)
    if is_policy_class(policies):
        raise ValueError(f"policies = {policies.__name__} is a class; pass an instance: {policies.__name__}().")
    if isinstance(policies, list | tuple) and any(map(is_policy_class, policies)):
        k = next(k for k, item in enumerate(policies) if is_policy_class(item))
        called = policies[k].__name__
        raise ValueError(f"policies[{k}] = {called} is a class; pass an instance: {called}().")
    if not isinstance(policies, Mapping) or not policies:
        forms = "a policy, a list of policies such as [UCB(), KLUCB()], nor a dict of names and policies such as {'UCB': UCB()}"
        raise ValueError(f"policies = {checks.show(policies)} is neither {forms}.")
    chosen = {}
    for name, policy in policies.items():
        if not isinstance(name, str):
            raise ValueError(f"policies has the name {name!r}, but names must be text.")
        if is_policy_class(policy):
            called = policy.__name__
            raise ValueError(f"policies[{name!r}] = {called} is a class; pass an instance: {called}().")
        chosen[name] = PerProblem.of(policy, problems, is_policy)
        for item, problem in zip(chosen[name].items, problems, strict=False):
            if not is_policy(item):
                what = checks.show(item)
                fault = f"= {what}" if chosen[name].function is None else f"makes {what} of a problem, which"
                raise ValueError(f"policies[{name!r}] {fault} is not a policy; pass an instance such as UCB().")
            check_fit(item, describe(problem))
            if admit.answers(item) and not type(item).TRAITS.stops:  # whose `init` may take minutes: see `prepare`
                admit(item, init(item, describe(private(problem))._replace(horizon=horizon)), first_round(problem))
    return chosen


def _by_class(policies: Sequence[Policy]) -> dict[str, Policy]:
    """Policies by the names of their classes, and by their parameters too where several are of one class."""
    classes = [type(item).__name__ for item in policies]
    names = [name if classes.count(name) == 1 else label(item) for name, item in zip(classes, policies, strict=True)]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"policies has {name} twice; give a dict with a name for each, such as {{'first': UCB(), 'second': UCB()}}.")
    return dict(zip(names, policies, strict=True))


def first_round(problem: Problem) -> Context:
    """A round such as this problem shows. What a loop relies on is checked on it: a kernel that may raise cannot be fast."""
    return observe(private(problem), 0, stream(0, 0, PROBLEM))


def as_monitors(monitor: Monitors, names: Sequence[str], problems: Sequence[Problem]) -> dict[str, PerProblem[Monitor]]:
    """A monitor, given or made by a function of the problem, for every policy."""
    by_name = dict(monitor) if isinstance(monitor, Mapping) else dict.fromkeys(names, monitor)
    if by_name.keys() != set(names):
        raise ValueError(
            f"monitor has {', '.join(map(checks.show, by_name))}, but must have the names of the policies, {', '.join(names)}."
        )
    monitors = {name: PerProblem.of(NoMonitor() if item is None else item, problems, begin.answers) for name, item in by_name.items()}
    for item in itertools.chain.from_iterable(per_problem.items for per_problem in monitors.values()):
        if not begin.answers(item):
            raise ValueError(f"monitor = {checks.show(item)} is not a monitor; pass one such as Budget(baseline=0).")
    for per_problem in monitors.values():
        for item, problem in zip(per_problem.items, problems, strict=False):
            if admit.answers(item):
                admit(item, begin(item, describe(private(problem)), 1), first_round(problem))
    return monitors


def as_rounds(name: str, value: object) -> int:
    return checks.integer(name, value, least=1, most=checks.MOST_ROUNDS)
