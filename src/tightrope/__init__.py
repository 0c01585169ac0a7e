"""Structured bandits: compiled in simulation, one decision at a time in production, with the guarantee visible."""

from . import extend, policies, problems
from .engine.identify import Identification, identify
from .engine.monitors import Budget
from .engine.results import Result, load
from .engine.runner import Interrupted
from .engine.simulate import simulate
from .engine.training import TrainedBeta, train_softucb
from .policies.lipschitz._intervals import discretize
from .registry import REGISTRY
from .serving.session import Session
from .solvers import oracles
from .solvers.covering import LowerBound, lipschitz_lower_bound
from .verbs import Context

__version__ = "0.1.0"
__all__ = [
    "Budget",
    "Context",
    "Identification",
    "Interrupted",
    "LowerBound",
    "Result",
    "Session",
    "TrainedBeta",
    "discretize",
    "extend",
    "identify",
    "lipschitz_lower_bound",
    "load",
    "oracles",
    "policies",
    "problems",
    "simulate",
    "train_softucb",
    *REGISTRY,
]

globals().update(REGISTRY)  # type checkers read __init__.pyi, which lists them
