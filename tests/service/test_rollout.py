"""Modes: what is served and with which propensity, what the gate may conclude, and when the policy is sent back."""

import math

import numpy as np
import pytest
from running import ask, create, decide, office_at, reward, state

from tightrope.inference.sequences import ConfidenceSequence
from tightrope.service import operations
from tightrope.service.errors import Refused
from tightrope.service.experiment import Experiment
from tightrope.service.gate import Gate
from tightrope.service.rehearsal import rehearse
from tightrope.service.requests import DecisionRequest, ModeChange
from tightrope.service.spec import ExperimentSpec, made_session
from tightrope.service.store import events as log
from tightrope.service.verify import names, replay

ANY = {"policy": "EpsilonGreedy", "epsilon": 1.0}  # every arm alike
ARMS = [{"id": "low"}, {"id": "mid"}, {"id": "high"}]
SPEC = {"name": "price", "policy": ANY, "arms": ARMS, "baseline": "mid", "seed": 3}
NOW = 1_800_000_000_000_000


class World:
    """An experiment without a database, driven round by round."""

    def __init__(self, means, **more):
        spec = ExperimentSpec.model_validate(SPEC | more)
        self.live, self.means, self.noise = Experiment("price"), means, np.random.default_rng(5)
        self.live.record("created", NOW, {"spec": spec.plain()})
        self.events = []

    def play(self, rounds, means=None):
        for _ in range(rounds):
            watched = self.live.watched
            event = self.live.decide(f"d{self.live.session.decided}", DecisionRequest(), NOW)
            self.events.append(event)
            mean = (self.means if means is None else means)[event.body["arm"]]
            self.live.record("rewarded", NOW, {"value": float(self.noise.random() < mean)}, event.key)
            asked = self.live.rollout.due() if watched else None
            if asked is not None:
                body = {"mode": asked[0], "share": self.live.rollout.share, "held": asked[2], "why": asked[1]}
                self.events.append(self.live.record("mode changed", NOW, body))
        return [event.body for event in self.events if event.kind == "mode changed"]


@pytest.mark.parametrize("mode", ["apprentice", "shadow"])
def test_the_baseline_is_served_and_the_policy_learns_from_it(mode):
    world = World([0.2, 0.5, 0.8], rollout={"mode": mode})
    world.play(40)
    bodies = [event.body for event in world.events]
    assert {body["name"] for body in bodies} == {"mid"} and {body["propensity"] for body in bodies} == {1.0}
    assert world.live.session.rounds == 40 and {body["rollout"]["wanted"] for body in bodies} == {0}  # the first that was never played
    pulls = world.live.session.state.pulls
    assert pulls.tolist() == [0, 40, 0]


def test_capped_serves_the_policy_with_its_share_and_logs_the_true_propensity():
    rounds, share = 3000, 0.3
    world = World([0.5] * 3, rollout={"mode": "capped", "share": share})
    world.play(50)  # until every arm was played once, which the policy does first
    world.events.clear()
    world.play(rounds)
    arms = np.array([event.body["arm"] for event in world.events])
    for arm, chance in enumerate((0.1, 0.8, 0.1)):
        assert {round(event.body["propensity"], 12) for event in world.events if event.body["arm"] == arm} == {chance}
        assert abs((arms == arm).mean() - chance) < 4 * math.sqrt(chance * (1 - chance) / rounds)


def test_production_of_several_arms_lets_shadow_say_what_the_policy_earns():
    means = np.array([0.2, 0.4, 0.9])
    world = World(means, baseline=None, rollout={"mode": "shadow", "production": {"low": 0.25, "mid": 0.5, "high": 0.25}})
    world.play(2000)
    told = world.live.rollout.report()["estimate"]
    for name, truth in (("policy", means.mean()), ("baseline", means @ [0.25, 0.5, 0.25])):
        assert abs(told[name]["value"] - truth) < 4 * told[name]["se"]
    low, high = told["difference"]
    assert low < means.mean() - means @ [0.25, 0.5, 0.25] < high


def test_without_overlap_the_estimate_is_refused_with_its_reason():
    world = World([0.2, 0.5, 0.8], rollout={"mode": "shadow", "promote": {"shadow": {"better": True}}})
    assert world.play(400) == []
    told = world.live.rollout.report()["estimate"]
    assert told["policy"] is None and told["difference"] is None
    assert "not enough overlap" in told["verdict"] and "never plays" in told["verdict"]


def test_a_better_policy_goes_through_all_modes_and_a_worse_one_does_not():
    rules = {"apprentice": {"after": 50}, "shadow": {"after": 60}, "capped": {"better": True}}
    rollout = {"share": 0.5, "promote": rules}
    good = World([0.9, 0.1, 0.9], rollout=rollout).play(700)
    assert [body["mode"] for body in good] == ["shadow", "capped", "full"] and "better" in good[-1]["why"]
    bad = World([0.1, 0.9, 0.1], rollout=rollout).play(700)
    assert [body["mode"] for body in bad] == ["shadow", "capped", "shadow"] and bad[-1]["held"] and "worse" in bad[-1]["why"]


def test_false_promotions_are_no_more_than_the_error():
    """All arms alike, so that neither is better: the hardest case. Looked at every 20 rounds."""
    runs, rounds, share, error = 100, 160, 0.5, 0.2
    noise, promoted = np.random.default_rng(1), 0
    for _ in range(runs):
        gate = Gate(error)
        policys, wanted, rewards = noise.random(rounds) < share, noise.integers(0, 2, rounds), noise.random(rounds) < 0.5
        for t in range(rounds):
            arm = wanted[t] if policys[t] else 0  # arm 0 is the baseline, the policy plays both alike
            h = (1 - share) + share / 2 if arm == 0 else share / 2
            gate.opened(str(t), 0.5 / h, (arm == 0) / h, True)
            gate.ended(str(t), float(rewards[t]))
            if t % 20 == 19 and gate.verdict("capped") == "better":
                promoted += 1
                break
    assert promoted / runs <= error + 4 * math.sqrt(error * (1 - error) / runs)


def test_the_gate_is_the_sequence_of_inference_and_takes_rewards_in_the_order_of_decisions():
    noise = np.random.default_rng(2)
    n = 200
    w, v, r = noise.random(n) * 2, noise.random(n) * 2, noise.random(n)
    twin = ConfidenceSequence(0.2, k=0.0)
    twin.update((w * r + v * (1 - r)) / 2, (v * r + w * (1 - r)) / 2)
    gate, other = Gate(0.1), Gate(0.1)
    for t in range(n):
        gate.opened(str(t), w[t], v[t], True)
        other.opened(str(t), w[t], v[t], True)
        gate.ended(str(t), r[t])
    for t in [*range(1, n)][::-1]:
        other.ended(str(t), r[t])
    assert other.rounds == 0  # all wait for the first
    other = Gate.unpack(other.pack())
    other.ended("0", r[0])
    assert other.pack() == gate.pack()
    low, high = twin.bounds
    np.testing.assert_allclose(gate.difference(), (2 * low - 1, 2 * high - 1), atol=1e-12)


def test_a_policy_that_turns_bad_is_sent_back_before_its_budget_is_gone():
    guard = {"policy": "UCB", "baseline_mean": 0.5, "alpha": 0.2, "guarantee": {"sigma": 0.5}}
    world = World([0.5, 0.5, 1.0], **guard, rollout={"mode": "full", "least_budget": 150.0})
    assert world.play(800) == []
    assert world.live.rollout.budget > 200
    (back,) = world.play(600, [0.0, 0.5, 0.0])
    assert back["mode"] == "shadow" and back["held"] and "budget" in back["why"]
    true = sum((1.0 if e.body["arm"] == 2 else 0.5) - 0.4 for e in world.events[:800])
    true += sum((0.5 if e.body["arm"] == 1 else 0.0) - 0.4 for e in world.events[800:] if e.kind == "decided")
    assert true > 0
    world.play(200)
    assert world.events[-1].body["name"] == "mid"
    assert world.live.rollout.mode == "shadow"  # rules wait for a command


def test_the_return_follows_the_decision_that_measured_the_budget(office):
    """Every round without the baseline costs what it would have earned, so the bound has fallen below -1 when it is measured first."""
    guard = {"policy": "UCB", "baseline_mean": 0.5, "alpha": 0.05, "guarantee": {"sigma": 0.5}, "window": None}
    create(office, SPEC | guard)
    for n in range(21):
        assert ask(office, operations.describe_rollout)["mode"] == "full"
        decide(office, f"d{n}", excluded=["mid"])
    assert ask(office, operations.describe_rollout)["held"]
    assert decide(office)["arm"] == "mid"
    assert [e.kind for e in written(office)][-3:] == ["decided", "mode changed", "decided"]


def test_a_policy_that_has_done_nothing_yet_is_not_sent_back(office):
    """CUCB2 charges for its confidence before it has explored; that is no loss."""
    create(office, SPEC | {"policy": "CUCB2", "baseline_mean": 0.5, "alpha": 0.05, "window": None})
    for n in range(60):
        reward(office, decide(office)["id"], n % 2)
    told = ask(office, operations.describe_rollout)
    assert told["mode"] == "full" and told["budget_bound"] == pytest.approx(60 * 0.025)


def written(office, row=1):
    with office.database.read() as connection:
        return list(log.read(connection, row))


def test_policies_with_features_of_each_round_go_back_too(office):
    guard = {"policy": "LinUCB", "dimension": 2, "baseline_mean": 0.5, "alpha": 0.05, "guarantee": {"sigma": 0.5, "arm_bound": 2.0}}
    create(office, SPEC | guard)
    for n in range(21):
        decide(office, f"d{n}", context={"low": [1.0, 0.0], "mid": [0.5, 0.5], "high": [0.0, 1.0]}, excluded=["mid"])
    told = ask(office, operations.describe_rollout)
    assert told["held"] and told["mode"] == "shadow" and told["budget_bound"] == pytest.approx(21 * -0.475)


def test_sets_have_a_budget_and_stay_full(office):
    arms = [{"id": f"f{k}", "features": row} for k, row in enumerate([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [0.5, -0.5]])]
    spec = {"name": "price", "policy": "C2UCB", "arms": arms, "oracle": {"oracle": "TopK", "k": 2}, "window": None, "alpha": 0.05}
    create(office, spec | {"baseline": ["f0", "f1"], "baseline_mean": 1.0})
    for n in range(41):
        decide(office, f"d{n}", excluded=["f0"])
    told = ask(office, operations.describe_rollout)
    assert told["mode"] == "full" and not told["held"] and told["budget_bound"] == pytest.approx(41 * -0.95)


def test_a_baseline_inside_the_policy_is_refused_and_old_logs_with_one_are_served(office):
    inside = {"policy": {"policy": "CUCB2", "baseline": 0, "baseline_mean": 0.5, "alpha": 0.05}, "baseline": None, "window": None}
    for wrong in (
        inside,
        {"policy": "UCB", "alpha": 0.05, "guarantee": {"baseline": 0}},
        {"policy": "UCB", "guarantee": {"baseline_mean": 0.5}},
    ):
        with pytest.raises(ValueError, match="beside policy"):
            rehearse(ExperimentSpec.model_validate(SPEC | wrong), office.settings)
    create(office, SPEC | inside)  # as a log from before has it
    for n in range(21):
        decide(office, f"d{n}", excluded=["low"])
    assert ask(office, operations.describe_rollout)["held"]
    assert decide(office)["arm"] == "low"


def test_modes_replay_to_the_bit_and_go_on_after_a_restart(tmp_path, clock):
    spec = SPEC | {"rollout": {"mode": "shadow", "share": 0.5}}
    with office_at(tmp_path / "a.db", clock, snapshot_every=40) as office:
        create(office, spec)
        for n in range(60):
            decide(office, f"d{n}")
            if n % 3:
                reward(office, f"d{n}", n % 2)
            if n == 20:
                assert ask(office, operations.change_mode, ModeChange(mode="capped"))["mode"] == "capped"
        told, evidence = state(office), ask(office, operations.describe_rollout)
    with office_at(tmp_path / "a.db", clock) as office:
        assert state(office)["fingerprint"] == told["fingerprint"] and ask(office, operations.describe_rollout) == evidence
        with office.database.read() as connection:
            ((row, name),) = names(connection, "price")
            found = replay(connection, row, name)
            (change,) = [event.body for event in log.read(connection, row) if event.kind == "mode changed"]
        assert found.wrong == () and found.compared >= 2 and found.other_arms == 0
        assert (change["by"], change["before"], change["mode"]) == ("command", "shadow", "capped")


def test_what_cannot_be_rolled_out_is_refused(office):
    with pytest.raises(ValueError, match="what is in production"):
        made_session(ExperimentSpec.model_validate(SPEC | {"baseline": None, "rollout": {}}))
    with pytest.raises(ValueError, match="adds up to"):
        create(office, SPEC | {"rollout": {"production": {"low": 0.5, "mid": 0.4}}})
    create(office, SPEC | {"rollout": {}})
    with pytest.raises(Refused, match="no arm of production"):
        decide(office, "a", excluded=["mid"])
    create(office, SPEC | {"name": "free", "baseline": None})
    with pytest.raises(Refused, match="has no baseline"):
        ask(office, operations.change_mode, ModeChange(mode="shadow"), name="free")
