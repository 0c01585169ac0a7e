"""Structured bandits: compiled in simulation, one decision at a time in production, with the guarantee visible."""

from . import adapters, extend, policies, problems
from .engine import delays, stopping
from .engine.identify import identify
from .engine.monitors import Budget
from .engine.paired import PairedComparison
from .engine.planning import Plan, plan
from .engine.query import query
from .engine.results import Identification, Result, load
from .engine.runner import Interrupted
from .engine.simulate import simulate
from .engine.training import TrainedBeta, train_softucb
from .inference import logs
from .inference.comparison import Comparison, compare
from .inference.evaluation import Evaluation, evaluate
from .inference.learning import learn_from
from .numerics.scaling import Scaled, scale
from .policies.lipschitz._intervals import discretize
from .registry import REGISTRY
from .serving.decisions import Decision
from .serving.session import Session
from .solvers import oracles
from .solvers.covering import LowerBound, lipschitz_lower_bound
from .solvers.slopes import LeastLipschitz, least_lipschitz
from .verbs import Context

__version__ = "0.1.0"
__all__ = [
    "Budget",
    "Comparison",
    "Context",
    "Decision",
    "Evaluation",
    "Identification",
    "Interrupted",
    "LeastLipschitz",
    "LowerBound",
    "PairedComparison",
    "Plan",
    "Result",
    "Scaled",
    "Session",
    "TrainedBeta",
    "adapters",
    "compare",
    "delays",
    "discretize",
    "evaluate",
    "extend",
    "identify",
    "learn_from",
    "least_lipschitz",
    "lipschitz_lower_bound",
    "load",
    "logs",
    "oracles",
    "plan",
    "policies",
    "problems",
    "query",
    "scale",
    "simulate",
    "stopping",
    "train_softucb",
    *REGISTRY,
]


def __getattr__(name: str) -> object:
    """`Client` talks to a service, so it needs httpx; it is loaded when it is asked for."""
    if name == "Client":
        from .service.client import Client

        return Client
    raise AttributeError(f"module 'tightrope' has no attribute {name!r}.")


globals().update(REGISTRY)  # type checkers read __init__.pyi, which lists them
