"""Policies, one algorithm a file."""

from ..core import registry
from ..core.policy import Policy, Problem
from .classic.betathompson import BetaThompson
from .classic.epsilongreedy import EpsilonGreedy
from .classic.gaussianthompson import GaussianThompson
from .classic.klucb import KLUCB
from .classic.robustucb import RobustUCB
from .classic.ucb import UCB
from .conservative.conservative import CLUCB, CLUCB2, CLUCB2T, CUCB, CUCB2, CUCB2T, Conservative
from .conservative.safe import Safe
from .conservative.safesegments import SafeSegments
from .conservative.safesets import SafeSets
from .exploration.explore import Explore
from .identification.frankwolfesampling import FrankWolfeSampling
from .identification.lingame import LinGame
from .identification.lingape import LinGapE
from .identification.p1rage import P1RAGE
from .identification.rage import RAGE
from .identification.toptwothompson import TopTwoThompson
from .identification.toptwoucb import TopTwoUCB
from .identification.trackandstop import TrackAndStop
from .identification.ugape import UGapE
from .identification.uniform import Uniform
from .identification.xyadaptive import XYAdaptive
from .identification.xyoracle import XYOracle
from .identification.xystatic import XYStatic
from .linear.linepsilongreedy import LinEpsilonGreedy
from .linear.linmed import LinMED
from .linear.lints import LinTS
from .linear.linucb import OFUL, LinUCB
from .linear.logisticts import LogisticTS
from .lipschitz.cklucb import CKLUCB
from .lipschitz.hoo import HOO
from .lipschitz.oslb import OSLB
from .lipschitz.trackckl import TrackCKLUCB
from .lipschitz.zooming import Zooming
from .regression.squarecb import SquareCB
from .semibandits.c2ucb import C2UCB
from .semibandits.combgreedy import CombGreedy
from .semibandits.combklucb import CombKLUCB
from .semibandits.comblints import CombLinTS
from .semibandits.comblinucb import CombLinUCB
from .semibandits.combts import CombTS
from .semibandits.combucb1 import CombUCB1
from .semibandits.escb import ESCB
from .semibandits.pc2ucb import PC2UCB
from .softucb.softucb import SoftUCB

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
    "CombGreedy",
    "CombKLUCB",
    "CombLinTS",
    "CombLinUCB",
    "CombTS",
    "CombUCB1",
    "Conservative",
    "EpsilonGreedy",
    "Explore",
    "FrankWolfeSampling",
    "GaussianThompson",
    "LinEpsilonGreedy",
    "LinGame",
    "LinGapE",
    "LinMED",
    "LinTS",
    "LinUCB",
    "LogisticTS",
    "RobustUCB",
    "Safe",
    "SafeSegments",
    "SafeSets",
    "SoftUCB",
    "SquareCB",
    "TopTwoThompson",
    "TopTwoUCB",
    "TrackAndStop",
    "TrackCKLUCB",
    "UGapE",
    "Uniform",
    "XYAdaptive",
    "XYOracle",
    "XYStatic",
    "Zooming",
    "examples",
]


def examples(problem: Problem | None = None) -> dict[str, Policy]:
    """One ready instance of every policy of this package, by its repr: what the contract tests run.

    problem: for policies that know the truth, whose `example` takes a problem; they have none without it.
    """
    return registry.examples(__name__, problem)
