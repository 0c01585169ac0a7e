"""Defaults of earlier versions, for logs that do not say what was taken.

A log must replay as it was, whatever is the default today. Since every event `created` records what was taken for each parameter that its
spec leaves out, `POLICIES` is for logs from before only, and a default that changes from now on needs no entry there. A parameter that is
new needs one in `ADDED`: what earlier versions did without it.
"""

from collections.abc import Mapping, Sequence

from ...core.types import JsonObject

SPEC: JsonObject = {"cancel_within": None}  # fields of a spec
LEAST_BUDGET = -1.0  # of the rollout, also where the spec has none

UNKNOWN_RANGE: JsonObject = {"rewards": None, "constants": "paper"}
GUARANTEE: JsonObject = {"sigma": 1.0, "martingale": "freedman"}  # of whatever keeps a promise
LINEAR_DEFAULTS: JsonObject = {"width": "theorem", "noise": 1.0, "shared": True}
POLICIES: dict[str, JsonObject] = {  # parameters, with which a policy of today does what that of then did without them
    "C2UCB": {"alpha": 1.0, "noise": 1.0},
    "CKLUCB": {"loglog": 0.0},
    "CombLinTS": {"noise": 1.0},
    "CombLinUCB": {"noise": 1.0},
    "CombTS": {"v": 1.0, "noise": 1.0},
    "LinEpsilonGreedy": {"shared": True},
    "LinTS": LINEAR_DEFAULTS,
    "LinUCB": LINEAR_DEFAULTS,
    "PC2UCB": {"alpha": 1.0, "noise": 1.0},
    "SoftUCB": {"beta": 1.0, "noise": 1.0, "shared": True},
    "SquareCB": {"scale": 10.0, "noise": 1.0, "shared": True},
}
KEEPERS = ("Conservative", "CUCB", "CUCB2", "CUCB2T", "CLUCB", "CLUCB2", "CLUCB2T")


# Parameters that policies have since then, with which they do what they did before. Events that record every parameter lack them too.
ADDED: dict[str, JsonObject] = {name: {"intercept": False} for name in POLICIES if name != "CKLUCB"}
ADDED["LinEpsilonGreedy"] |= {"ties": "index"}
POLICIES |= dict.fromkeys(KEEPERS, GUARANTEE)
ADDED |= {name: {"martingale_sigma": None, "index": "interval"} | UNKNOWN_RANGE for name in KEEPERS}
ADDED |= {"Safe": {"martingale_sigma": None} | UNKNOWN_RANGE, "SafeSets": UNKNOWN_RANGE}


def policy_of_then(described: Mapping[str, object]) -> JsonObject:
    """A policy as a spec of an earlier version describes it, with what that version took for what is not said; policies inside it too."""
    return _completed(described, (ADDED, POLICIES))


def policy_as_recorded(described: Mapping[str, object]) -> JsonObject:
    """A policy as an event records it, with what its version did where a parameter is newer than the event; policies inside it too."""
    return _completed(described, (ADDED,))


def _completed(described: Mapping[str, object], tables: Sequence[Mapping[str, JsonObject]]) -> JsonObject:
    parameters = {
        name: _completed(item, tables) if isinstance(item, Mapping) and "policy" in item else item for name, item in described.items()
    }
    taken: JsonObject = {}
    for table in tables:
        taken |= table.get(str(described.get("policy")), {})
    return taken | parameters
