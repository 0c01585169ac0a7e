"""Names that are imported from here, one by one, so that editors and type checkers know them; `__init__.py` reads this file at run time."""

from . import adapters, extend, logs, policies, problems
from .core.verbs import Context
from .evaluation.compare import compare
from .evaluation.evaluate import evaluate
from .evaluation.learners import evaluate_learner
from .evaluation.results import Comparison, Evaluation
from .logs.encoding import Encoder
from .numerics.scaling import Scaled, scale
from .policies import (
    C2UCB,
    CKLUCB,
    CLUCB,
    CLUCB2,
    CLUCB2T,
    CUCB,
    CUCB2,
    CUCB2T,
    ESCB,
    HOO,
    KLUCB,
    OFUL,
    OSLB,
    P1RAGE,
    PC2UCB,
    RAGE,
    UCB,
    BetaThompson,
    CombGreedy,
    CombKLUCB,
    CombLinTS,
    CombLinUCB,
    CombTS,
    CombUCB1,
    Conservative,
    EpsilonGreedy,
    Explore,
    FrankWolfeSampling,
    GaussianThompson,
    LinEpsilonGreedy,
    LinGame,
    LinGapE,
    LinMED,
    LinTS,
    LinUCB,
    LogisticTS,
    RobustUCB,
    Safe,
    SafeSegments,
    SafeSets,
    SoftUCB,
    SquareCB,
    TopTwoThompson,
    TopTwoUCB,
    TrackAndStop,
    TrackCKLUCB,
    UGapE,
    Uniform,
    XYAdaptive,
    XYOracle,
    XYStatic,
    Zooming,
)
from .policies.lipschitz.intervals import discretize
from .results.paired_differences import PairedComparison
from .results.results import Identification, Result, load
from .service.client import Client as Client
from .session.decisions import Decision
from .session.journal import Journal
from .session.learning import learn_from
from .session.session import Session
from .simulation import delays, stopping
from .simulation.identify import identify
from .simulation.monitors import Budget
from .simulation.planning import Plan, plan
from .simulation.replication import Interrupted
from .simulation.runs.query import query
from .simulation.simulate import simulate
from .simulation.training import TrainedBeta, train_softucb
from .solvers import oracles
from .solvers.covering import LowerBound, lipschitz_lower_bound
from .solvers.slopes import LeastLipschitz, least_lipschitz

__version__: str
__all__ = [
    "C2UCB",
    "CKLUCB",
    "CLUCB",
    "CLUCB2",
    "CLUCB2T",
    "CUCB",
    "CUCB2",
    "CUCB2T",
    "ESCB",
    "HOO",
    "KLUCB",
    "OFUL",
    "OSLB",
    "P1RAGE",
    "PC2UCB",
    "RAGE",
    "UCB",
    "BetaThompson",
    "Budget",
    "CombGreedy",
    "CombKLUCB",
    "CombLinTS",
    "CombLinUCB",
    "CombTS",
    "CombUCB1",
    "Comparison",
    "Conservative",
    "Context",
    "Decision",
    "Encoder",
    "EpsilonGreedy",
    "Evaluation",
    "Explore",
    "FrankWolfeSampling",
    "GaussianThompson",
    "Identification",
    "Interrupted",
    "Journal",
    "LeastLipschitz",
    "LinEpsilonGreedy",
    "LinGame",
    "LinGapE",
    "LinMED",
    "LinTS",
    "LinUCB",
    "LogisticTS",
    "LowerBound",
    "PairedComparison",
    "Plan",
    "Result",
    "RobustUCB",
    "Safe",
    "SafeSegments",
    "SafeSets",
    "Scaled",
    "Session",
    "SoftUCB",
    "SquareCB",
    "TopTwoThompson",
    "TopTwoUCB",
    "TrackAndStop",
    "TrackCKLUCB",
    "TrainedBeta",
    "UGapE",
    "Uniform",
    "XYAdaptive",
    "XYOracle",
    "XYStatic",
    "Zooming",
    "adapters",
    "compare",
    "delays",
    "discretize",
    "evaluate",
    "evaluate_learner",
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
]
