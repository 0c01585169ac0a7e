"""A machine that plays customers, clocks, erasures, cancellations, growth and restarts at random,
against an exact ledger.

It knows what every arm earns on average, so it knows the true budget of every promise: what was
decided and not cancelled has earned its arm's mean, and a baseline would have earned its own. After every few steps
no bound may be above the truth, no promise broken, and no assumption of the certificate may say
"holds" where the log says otherwise. `python tests/service/ledger.py 10000` plays so many
histories.
"""

import collections
import contextlib
import pathlib
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from running import Clock, ask, crash, create, service_at, standing_and_history

from tightrope_service import commands, log
from tightrope_service.certificate import certificate
from tightrope_service.errors import Refused
from tightrope_service.history import promised_bounds, segment_report
from tightrope_service.recovery import check_snapshots, replay, verify
from tightrope_service.requests import ArmChange, ArmsRequest, DecisionRequest, RewardRequest
from tightrope_service.writer import close_windows

SECOND = 10**6
ALPHA, TOLERANCE = 0.2, 1e-9
POLICIES = ("UCB", "BetaThompson", {"policy": "EpsilonGreedy", "epsilon": 1.0}, "KLUCB")
# what the baseline earns; of several metrics, whose values come one by one
KINDS = ("stated", "learned", "of the round", "by mask", "by segment", "metrics")
COUNTRIES = ("de", "other")


class Player:
    """One experiment and what is true of it."""

    def __init__(self, service, clock, name, seed):
        self.service, self.clock, self.name = service, clock, name
        self.rng = np.random.default_rng(seed)
        self.kind = KINDS[int(self.rng.integers(len(KINDS)))]
        count = int(self.rng.integers(2, 6))
        several = self.kind == "metrics"
        policy = POLICIES[int(self.rng.integers(len(POLICIES)))]
        revenue = 1.0 if policy in ("BetaThompson", "KLUCB") else 10.0
        # the highest values, by metric
        self.most = {"revenue": revenue, "complaints": 1.0} if several else {"": 1.0}
        self.means = {f"a{k}": self.new_means() for k in range(count)}
        self.late = self.rng.random() < 0.5  # whether of some arms only sales are told
        self.limited_means = dict(self.means)  # where an arm may not be played
        if self.kind == "by mask":
            self.limited_means = {arm: self.new_means() for arm in self.means}
        spec = {
            "name": name,
            "policy": policy,
            "arms": [{"id": arm} for arm in self.means],
            "alpha": ALPHA,
            "guarantee": {"sigma": 0.5},
            "window": 60.0,
            "default_reward": 0.0,
            "cancel_within": 10.0,
            "seed": seed,
            "rollout": {"mode": "full", "least_budget": -1e9},
        }
        self.lasts = 0 if self.kind == "of the round" or self.rng.random() < 0.5 else 40 * SECOND
        self.assigned = {}  # decision, arm and end by subject, who began first first
        if self.lasts:
            spec["sticky"] = {"lasts": self.lasts / SECOND}
        if self.kind == "of the round":
            del spec["rollout"]
        else:
            spec |= {"baseline": "a0"} | (
                {"baseline_mean": self.means["a0"][""]} if self.kind == "stated" else {}
            )
        by = "country" if self.kind == "by segment" or (several and self.rng.random() < 0.3) else ""
        # metric, sense, kappa, omega and what it is by
        self.promises = [("", 1, 1.0 - ALPHA, 0.0, by)]
        if by:
            spec |= {"segments": {"country": ["de"]}}
        if self.kind == "by segment":
            spec |= {"promise_by": "country"}
        if several:
            ceiling = self.means["a0"]["complaints"] + 0.1
            spec |= {
                "metrics": {metric: [0, most] for metric, most in self.most.items()},
                "promises": [
                    {"alpha": ALPHA},
                    {"metric": "complaints", "alpha": 0.5, "at_most": True, "by": by or None},
                    {"metric": "complaints", "ceiling": ceiling, "share": 2.0},
                ],
                "default_reward": dict.fromkeys(self.most, 0.0),
            }
            known = ["revenue"] if by or self.rng.random() < 0.5 else []
            spec["baseline_mean"] = {m: self.means["a0"][m] for m in [*known, "complaints"]}
            spec["rollout"]["least_budget"] = dict.fromkeys(self.most, -1e9)
            del spec["alpha"]
            self.promises = [
                ("revenue", 1, 1.0 - ALPHA, 0.0, ""),
                ("complaints", -1, 1.5, 0.0, by),
                ("complaints", -1, 0.0, -ceiling, ""),
            ]
        create(service, spec)
        self.made = self.limited = 0
        self.decided = {}  # id: arm, baseline, subject, what both earn
        self.open, self.cancelled = {}, set()  # open: the metrics that are missing, by decision
        self.without_baseline = 0
        self.countries = COUNTRIES if by else ("",)
        self.truth = {
            (p, where): 0.0
            for p, promise in enumerate(self.promises)
            for where in (self.countries if promise[-1] else ("",))
        }
        self.if_shown = [0.0] * len(self.promises)  # by how much cancelled decisions would lower it
        self.lowest = 0.0
        self.retired = set()
        self.broken = collections.Counter()

    def new_means(self):
        return {
            metric: most * float(self.rng.uniform(0.05, 0.95)) for metric, most in self.most.items()
        }

    def count(self, where, means, owed, times):
        """A decision, or its cancellation, in the true budgets."""
        for p, (metric, sense, kappa, omega, by) in enumerate(self.promises):
            gain = sense * means[metric] - kappa * sense * owed[metric] - omega
            self.truth[p, where if by else ""] += times * gain
        self.lowest = min(self.lowest, *self.truth.values())

    def ask(self, operation, *arguments):
        return ask(self.service, operation, *arguments, name=self.name)

    def step(self):
        """Something happens."""
        acts = (
            [self.decide] * 10
            + [self.answer] * 8
            + [self.cancel, self.wait, self.erase, self.grow, self.change, self.jump]
        )
        acts[int(self.rng.integers(len(acts)))]()

    # Customers ------------------------------------------------------------------------------------

    def decide(self):
        asked, baseline = {}, "a0"
        if self.kind == "of the round":
            playable = [arm for arm in self.means if arm not in self.retired]
            baseline = playable[int(self.rng.integers(len(playable)))]
            asked = {"baseline": baseline, "baseline_mean": self.means[baseline][""]}
        if self.rng.random() < 0.02:
            asked["excluded"] = [baseline]
        elif self.rng.random() < (0.4 if self.kind == "by mask" else 0.1) and len(self.means) > 2:
            asked["excluded"] = [list(self.means)[-1]]
        where = self.countries[int(self.rng.integers(len(self.countries)))]
        if where:
            asked["segments"] = {"country": where}
        if self.rng.random() < 0.3:
            asked["subject"] = f"u{int(self.rng.integers(4))}"
        id, now = f"d{self.made}", self.clock.now
        kept, arm, until = self.assigned.get(asked.get("subject"), (id, None, 0))
        keeps = now < until and arm not in self.retired and arm not in asked.get("excluded", ())
        try:
            answer = self.ask(commands.decide, id, DecisionRequest(id=id, **asked))
        except Refused as refused:
            assert refused.status in (409, 422), refused.message
            return
        assert answer["id"] == (kept if keeps else id)
        if keeps:
            return
        arm = answer["arm"]
        self.assign(asked.get("subject"), id, arm, now)
        self.made += 1
        self.without_baseline += baseline in asked.get("excluded", ())
        means = self.limited_means if "excluded" in asked else self.means
        self.decided[id] = (
            arm,
            baseline,
            asked.get("subject"),
            means[arm],
            means[baseline],
            where,
        )
        self.limited += "excluded" in asked
        self.open[id] = [*self.most]
        self.count(where, means[arm], means[baseline], 1)
        self.clock.now += int(self.rng.integers(SECOND))

    def assign(self, subject, id, arm, now):
        """Whose time is over is decided for anew, also where the clock then goes back."""
        self.assigned = {whose: one for whose, one in self.assigned.items() if one[2] > now}
        if self.lasts and subject is not None:
            self.assigned.pop(subject, None)
            self.assigned[subject] = id, arm, now + self.lasts

    def unassign(self, id):
        """The subject of a decision is decided for anew."""
        self.assigned = {subject: one for subject, one in self.assigned.items() if one[0] != id}

    def answer(self):
        """A value of a decision; one of 0 may not be reported, which is what the default says."""
        if not self.open:
            return
        id = list(self.open)[int(self.rng.integers(len(self.open)))]
        metric = self.open[id].pop(int(self.rng.integers(len(self.open[id]))))
        if not self.open[id]:
            del self.open[id]
        most = self.most[metric]
        value = most * float(self.rng.random() < self.decided[id][3][metric] / most)
        untold = self.late and self.decided[id][0] in ("a1", "a3")
        if value == 0.0 and (untold or self.rng.random() < 0.3):
            return
        told = {"values": {metric: value}} if metric else {"value": value}
        with contextlib.suppress(Refused):  # it may have been too late
            self.ask(commands.reward, RewardRequest(decision_id=id, **told))

    def cancel(self):
        """Of a decision that was not shown, whichever it is."""
        if not self.open:
            return
        id = list(self.open)[-1]
        try:
            self.ask(commands.cancel, id)
        except Refused as refused:
            assert refused.status in (404, 409, 410), refused.message
            return
        arm, baseline, _, means, owed, where = self.decided[id]
        self.unassign(id)
        del self.open[id]
        self.cancelled.add(id)
        self.count(where, means, owed, -1)
        for p, (metric, sense, kappa, omega, _) in enumerate(self.promises):
            worst = 0.0 if sense > 0 else -self.most[metric]
            self.if_shown[p] += (worst - kappa * sense * owed[metric] - omega) * (arm != baseline)

    # Operators ------------------------------------------------------------------------------------

    def wait(self):
        self.clock.now += int(self.rng.integers(30)) * SECOND
        self.ask(close_windows)

    def jump(self):
        """The clock is ahead for a moment. Nothing becomes due meanwhile: what a clock closes too
        early nothing takes back."""
        if self.open:
            return
        ahead = 3600 * SECOND
        self.clock.now += ahead
        self.decide()
        self.clock.now -= ahead

    def erase(self):
        subject = f"u{int(self.rng.integers(4))}"
        self.ask(commands.Erasure(subject))
        for id, (_, _, whose, *_) in self.decided.items():
            if whose == subject:
                self.open.pop(id, None)
        self.assigned.pop(subject, None)

    def grow(self):
        if len(self.means) < 9:
            arm = f"a{len(self.means)}"
            self.ask(commands.add_arms, ArmsRequest(arms=[{"id": arm}]))
            self.means[arm] = self.limited_means[arm] = self.new_means()

    def change(self):
        arm = list(self.means)[int(self.rng.integers(len(self.means)))]
        status = ("active", "masked", "retired")[int(self.rng.integers(3))]
        if arm == "a0" or (status != "active" and len(self.means) - len(self.retired) < 3):
            return
        self.ask(commands.change_arm, arm, ArmChange(status=status))
        (self.retired.discard if status == "active" else self.retired.add)(arm)

    # The ledger -----------------------------------------------------------------------------------

    def certified(self, service):
        """The certificate, from a history that is read anew; one that was kept must say the
        same."""
        standing, history = standing_and_history(service, self.name)
        fresh = certificate(standing, history, b"k" * 32, 0)
        (by,) = [p for p, promise in enumerate(self.promises) if promise[-1]] or (0,)
        for one in promised_bounds(standing, history):
            self.broken["bound"] += one["bound"] > self.truth[by, one["value"]] + TOLERANCE
        for one in (history, *history.others.values()) if self.kind != "by mask" else ():
            cells = [(arm, *ends) for arm, ends in zip(one.arms, one.intervals(), strict=True)]
            rows = segment_report(one)["arms"]
            cells += [(row["arm"], row["low"], row["high"]) for row in rows if row["low"]]
            self.broken["interval"] += any(
                not low - TOLERANCE <= self.means[arm][one.metric] <= high + TOLERANCE
                for arm, low, high in cells
            )
        with service.histories.until(self.name, standing["seq"]) as kept:
            assert certificate(standing, kept, b"k" * 32, 0)["assumptions"] == fresh["assumptions"]
        return fresh

    def check(self, service):
        """What a certificate says, against the truth."""
        told = self.certified(service)
        budget, said = told["budget"], {one["says"]: one for one in told["assumptions"]}
        each = budget.get("promises", [budget])
        assert len(each) == len(self.promises) and budget["bound"] == min(o["bound"] for o in each)
        for p, (one, promise) in enumerate(zip(each, self.promises, strict=True)):
            truth = min(true for (k, _), true in self.truth.items() if k == p)
            self.broken["bound"] += one["bound"] > truth + TOLERANCE
            self.broken["bound if shown"] += (
                one["bound_if_cancelled_were_shown"] > truth + self.if_shown[p] + TOLERANCE
                and not promise[-1]
            )
        self.broken["promise"] += (
            not self.without_baseline and not self.cancelled and self.lowest < -TOLERANCE
        )
        (there,) = [one for says, one in said.items() if "can be played" in says]
        assert (there["verdict"] == "contradicted") == bool(self.without_baseline), there
        if self.without_baseline:
            assert (
                f"in {self.without_baseline:,} round" in there["why"]
                and "do not rely on it" in told["promise"]
            )
        assert told["cancelled"] == len(self.cancelled) and told["decisions"] == self.made
        for says, one in said.items():
            if "within the declared range" in says:
                assert one["verdict"] == "holds", one
            if "Which arms may be played" in says:
                assert (one["verdict"] == "holds") == (not self.limited), one
            if "does not depend on what it is" in says:
                assert one["verdict"] != "holds", one


def played(folder, seeds, steps):
    """Histories that share a service, which is restarted and killed in between. Returns what was
    broken, by kind."""
    clock, found = Clock(), collections.Counter()
    players: list[Player] = []
    rng = np.random.default_rng(seeds[0])
    for sitting in range(3):
        with service_at(
            folder / "ledger.db", clock, tick=3600.0, snapshot_every=int(rng.integers(20, 200))
        ) as service:
            if not sitting:
                players = [Player(service, clock, f"h{seed}", seed) for seed in seeds]
            for player in players:
                player.service = service
                for n in range(steps):
                    player.step()
                    if n % 20 == 19:
                        player.check(service)
                player.wait()
                player.check(service)
            if sitting == 1:
                crash(service)
    with service_at(folder / "ledger.db", clock) as service, service.database.read() as connection:
        for row, name in log.rows_and_names(connection):
            assert verify(connection, row, name).errors == (), name
            with contextlib.suppress(
                ValueError
            ):  # erased behind the last snapshot of a process that was killed
                assert replay(connection, row, name).errors == (), name
            assert check_snapshots(connection, row, name) == ([], []), name
    for player in players:
        found.update(kind for kind, count in player.broken.items() if count)
    return found


if __name__ == "__main__":
    wanted, seconds = int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1e9
    total, began, done = collections.Counter(), time.monotonic(), 0
    while done < wanted and time.monotonic() - began < seconds:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
            total.update(played(pathlib.Path(place), range(1000 + done, 1000 + done + 25), 40))
        done += 25
        print(
            f"{done} histories, {time.monotonic() - began:.0f} s, histories with something "
            f"broken: {dict(total) or 'none'}",
            flush=True,
        )
