"""The accounts that the ledger of an experiment keeps of its workers: how far a worker's log was taken in, and which lease it holds.

A lease is a number of decisions that explore. How many may be out is derived in docs/explanation/conservative-guarantee.md, "Many workers".
"""

from typing import Any, Self

from ...core.types import JsonObject, State
from ...policies.conservative.holdings import ledger_of
from ...policies.conservative.leases import lease_room, leased_bound
from ...policies.conservative.ledger import SUBGAUSSIAN, value_of
from .events import TYPES, DecisionEvent, Exchanged


class Accounts:
    """By worker: `taken`, the last event of its log that the ledger has; `leases`, decisions that it may have made without being known.

    early: what came of decisions that are not in the ledger yet, because another worker made them.
    """

    def __init__(self) -> None:
        self.taken: dict[int, int] = {}
        self.leases: dict[int, int] = {}
        self.early: dict[str, DecisionEvent] = {}
        self.bound: float | None = None  # of the budget, at the last exchange
        self.lowest: float | None = None  # of all exchanges

    @property
    def out(self) -> int:
        """Decisions that may have been made under leases and are not known."""
        return sum(self.leases.values())

    def enter(self, event: Exchanged) -> None:
        """An exchange took place. Raises ValueError where events are left out, or come twice."""
        if event.first != self.taken.get(event.worker, 0) + 1:
            raise ValueError(f"the ledger takes in event {event.first} of worker {event.worker} behind {self.taken.get(event.worker, 0)}.")
        self.taken[event.worker], self.leases[event.worker], self.bound = event.last, event.lease, event.bound
        if event.bound is not None:
            self.lowest = event.bound if self.lowest is None else min(self.lowest, event.bound)

    def report(self, most: int) -> JsonObject:
        """How many workers there may be, how many logs there are, and which leases are out."""
        leases = {str(worker): lease for worker, lease in sorted(self.leases.items())}
        return {"most": most, "logs": len(leases), "leases": leases, "out": self.out}

    def pack(self) -> JsonObject:
        """All of it as JSON-ready data."""
        early = [[id, event.kind, event.body] for id, event in self.early.items()]
        workers = [[worker, last, self.leases[worker]] for worker, last in sorted(self.taken.items())]
        return {"workers": workers, "early": early, "bound": self.bound, "lowest": self.lowest}

    @classmethod
    def unpack(cls, packed: JsonObject) -> Self:
        """The accounts that `pack` wrote."""
        accounts = cls()
        for worker, last, lease in packed["workers"]:
            accounts.taken[worker], accounts.leases[worker] = last, lease
        for id, kind, body in packed["early"]:
            event = TYPES[kind].read(body, id)
            assert isinstance(event, DecisionEvent)
            accounts.early[id] = event
        accounts.bound, accounts.lowest = packed["bound"], packed["lowest"]
        return accounts


class KnownRounds:
    """The sums that a lease rests on, of the rounds that the ledger knows. policy: that keeps a budget. state: the policy's."""

    def __init__(self, policy: Any, state: State) -> None:
        keeper = ledger_of(state)
        assert keeper is not None  # of a policy that keeps a budget
        ledger = keeper.ledger[0]
        self.rewards, self.explored = float(value_of(ledger.rewards)), float(ledger.explored)
        self.owed = float(value_of(ledger.earned) - (1.0 - policy.alpha) * value_of(ledger.promised))
        self.charge = float((1.0 - policy.alpha) * policy.baseline_mean)
        self.sigma = float(ledger.sigma if policy.martingale_sigma != policy.martingale_sigma else policy.martingale_sigma)
        self.delta, self.reach = float(policy.delta), 0.0 if policy.martingale == SUBGAUSSIAN else float(ledger.span)

    def bound(self, out: int) -> float:
        """Lower bound of the budget, whatever was or will be made under leases of so many decisions."""
        return float(leased_bound(*self._sums(out)))

    def room(self, out: int, most: int) -> int:
        """How many more decisions may be leased, while so many are out."""
        return int(lease_room(*self._sums(out), most))

    def _sums(self, out: int) -> tuple[float, float, float, float, float, float, float, float]:
        return self.rewards, self.explored, self.owed, float(out), self.charge, self.sigma, self.delta, self.reach
