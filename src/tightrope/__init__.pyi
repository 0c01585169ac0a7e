"""Names that are imported from here, one by one, so that editors and type checkers know them;
`__init__.py` reads this file at run time."""

from tightrope_service.client import Client as Client

from . import adapters, extend, logs, policies, problems
from .core.verbs import Context
from .evaluation.evaluate import compare, evaluate, evaluate_learner
from .evaluation.results import Comparison, Evaluation
from .logs.encoding import Encoder
from .numerics.linalg import Scaled, scale
from .policies.classic.betathompson import BetaThompson
from .policies.classic.epsilongreedy import EpsilonGreedy
from .policies.classic.gaussianthompson import GaussianThompson
from .policies.classic.glrrestart import GLRRestart
from .policies.classic.klucb import KLUCB
from .policies.classic.robustucb import RobustUCB
from .policies.classic.tsallisinf import TsallisINF
from .policies.classic.ucb import UCB
from .policies.conservative.conservative import (
    CLUCB,
    CLUCB2,
    CLUCB2T,
    CUCB,
    CUCB2,
    CUCB2T,
    Conservative,
)
from .policies.conservative.promises import Promise
from .policies.conservative.safe import Safe, SafePromises, SafeSegments
from .policies.conservative.safesets import SafeSets
from .policies.explore import Explore
from .policies.identification.frankwolfesampling import FrankWolfeSampling
from .policies.identification.lazytrackandstop import LazyTrackAndStop
from .policies.identification.lingame import LinGame
from .policies.identification.lingape import LinGapE
from .policies.identification.odlinbai import ODLinBAI
from .policies.identification.p1rage import P1RAGE
from .policies.identification.peps import PEPS
from .policies.identification.rage import RAGE
from .policies.identification.sequentialhalving import SequentialHalving
from .policies.identification.toptwothompson import TopTwoThompson
from .policies.identification.toptwoucb import TopTwoUCB
from .policies.identification.trackandstop import TrackAndStop
from .policies.identification.ugape import UGapE
from .policies.identification.uniform import Uniform
from .policies.identification.xyadaptive import XYAdaptive
from .policies.identification.xyoracle import XYOracle
from .policies.identification.xystatic import XYStatic
from .policies.linear.linepsilongreedy import LinEpsilonGreedy
from .policies.linear.linmed import LinMED
from .policies.linear.lints import LinTS
from .policies.linear.linucb import OFUL, LinUCB
from .policies.linear.logisticts import LogisticTS
from .policies.linear.losan import LOSAN
from .policies.lipschitz.cklucb import CKLUCB
from .policies.lipschitz.hoo import HOO
from .policies.lipschitz.oslb import OSLB
from .policies.lipschitz.ossb import OSSB
from .policies.lipschitz.pooled import discretize
from .policies.lipschitz.trackckl import TrackCKLUCB
from .policies.lipschitz.zooming import Zooming
from .policies.semibandits.c2ucb import C2UCB
from .policies.semibandits.combgreedy import CombGreedy
from .policies.semibandits.combklucb import CombKLUCB
from .policies.semibandits.comblints import CombLinTS
from .policies.semibandits.comblinucb import CombLinUCB
from .policies.semibandits.combthompson import (
    BGCTS,
    CLSG,
    CTS3,
    CTSG,
    CombThompson,
    CTSBeta,
    CTSGaussian,
)
from .policies.semibandits.combts import CombTS
from .policies.semibandits.combucb1 import CombUCB1
from .policies.semibandits.escb import ESCB
from .policies.semibandits.pc2ucb import PC2UCB
from .policies.softucb import SoftUCB
from .policies.squarecb import SquareCB
from .results import Identification, PairedComparison, Result, load
from .session.decisions import Decision
from .session.journal import Journal
from .session.learning import learn_from
from .session.session import Session
from .simulation import delays, stopping
from .simulation.loops import Interrupted
from .simulation.monitors import Budget
from .simulation.simulate import Plan, identify, plan, simulate
from .simulation.training import TrainedBeta, train_softucb
from .solvers import oracles
from .solvers.programs import (
    ConservativeLowerBound,
    LeastLipschitz,
    LowerBound,
    conservative_lower_bound,
    least_lipschitz,
    lipschitz_lower_bound,
)

__version__: str
__all__ = [
    "BGCTS",
    "C2UCB",
    "CKLUCB",
    "CLSG",
    "CLUCB",
    "CLUCB2",
    "CLUCB2T",
    "CTS3",
    "CTSG",
    "CUCB",
    "CUCB2",
    "CUCB2T",
    "ESCB",
    "HOO",
    "KLUCB",
    "LOSAN",
    "OFUL",
    "OSLB",
    "OSSB",
    "P1RAGE",
    "PC2UCB",
    "PEPS",
    "RAGE",
    "UCB",
    "BetaThompson",
    "Budget",
    "CTSBeta",
    "CTSGaussian",
    "CombGreedy",
    "CombKLUCB",
    "CombLinTS",
    "CombLinUCB",
    "CombTS",
    "CombThompson",
    "CombUCB1",
    "Comparison",
    "Conservative",
    "ConservativeLowerBound",
    "Context",
    "Decision",
    "Encoder",
    "EpsilonGreedy",
    "Evaluation",
    "Explore",
    "FrankWolfeSampling",
    "GLRRestart",
    "GaussianThompson",
    "Identification",
    "Interrupted",
    "Journal",
    "LazyTrackAndStop",
    "LeastLipschitz",
    "LinEpsilonGreedy",
    "LinGame",
    "LinGapE",
    "LinMED",
    "LinTS",
    "LinUCB",
    "LogisticTS",
    "LowerBound",
    "ODLinBAI",
    "PairedComparison",
    "Plan",
    "Promise",
    "Result",
    "RobustUCB",
    "Safe",
    "SafePromises",
    "SafeSegments",
    "SafeSets",
    "Scaled",
    "SequentialHalving",
    "Session",
    "SoftUCB",
    "SquareCB",
    "TopTwoThompson",
    "TopTwoUCB",
    "TrackAndStop",
    "TrackCKLUCB",
    "TrainedBeta",
    "TsallisINF",
    "UGapE",
    "Uniform",
    "XYAdaptive",
    "XYOracle",
    "XYStatic",
    "Zooming",
    "adapters",
    "compare",
    "conservative_lower_bound",
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
    "scale",
    "simulate",
    "stopping",
    "train_softucb",
]
