"""Modes: what is served and with which propensity, what the evidence may conclude, and when the
policy is sent back."""

import math

import numpy as np
import pytest
from running import ask, create, decide, refused, reward, service_at, state

from tightrope.evaluation.estimators import ConfidenceSequence
from tightrope_service import commands, log
from tightrope_service.events import ModeChanged, Rewarded
from tightrope_service.experiment import created, decide as draw
from tightrope_service.log import ExperimentJournal
from tightrope_service.recovery import replay
from tightrope_service.requests import DecisionRequest, ModeChange
from tightrope_service.rollout import Evidence, Weights
from tightrope_service.service import warm_up
from tightrope_service.spec import ExperimentSpec, check_spec

ANY = {"policy": "EpsilonGreedy", "epsilon": 1.0}  # every arm alike
ARMS = [{"id": "low"}, {"id": "mid"}, {"id": "high"}]
SPEC = {"name": "price", "policy": ANY, "arms": ARMS, "baseline": "mid", "seed": 3}
NOW = 1_800_000_000_000_000


class World:
    """An experiment without a database, driven round by round."""

    def __init__(self, means, **more):
        spec = ExperimentSpec.model_validate(SPEC | more)
        self.journal, self.means, self.noise = (
            ExperimentJournal("price"),
            means,
            np.random.default_rng(5),
        )
        self.experiment = self.journal.experiment
        self.journal.record(created(spec), NOW)
        self.events = []

    def play(self, rounds, means=None):
        for _ in range(rounds):
            watched = self.experiment.watched
            decided = draw(
                self.experiment, f"d{self.experiment.session.decided}", DecisionRequest(), NOW
            )
            self.events.append(self.journal.record(decided, NOW))
            mean = (self.means if means is None else means)[decided.arm]
            self.journal.record(Rewarded(decided.decision, float(self.noise.random() < mean)), NOW)
            rollout = self.experiment.rollout
            rule = rollout.rule_due() if watched else None
            if rule is not None:
                change = ModeChanged(
                    rule.mode, rollout.share, rule.sent_back, "rule", rule.why, rollout.mode
                )
                self.events.append(self.journal.record(change, NOW))
        return [event.body for event in self.events if event.kind == "mode changed"]


@pytest.mark.parametrize("mode", ["apprentice", "shadow"])
def test_the_baseline_is_served_and_the_policy_learns_from_it(mode):
    world = World([0.2, 0.5, 0.8], rollout={"mode": mode})
    world.play(40)
    bodies = [event.body for event in world.events]
    assert {body["name"] for body in bodies} == {"mid"} and {
        body["propensity"] for body in bodies
    } == {1.0}
    assert world.experiment.session.rounds == 40
    assert {body["rollout"]["wanted"] for body in bodies} == {
        0,
        1,
        2,
    }  # drawn with epsilon = 1, also while two were never played
    assert world.experiment.session.state.pulls.tolist() == [0, 40, 0]


def test_capped_serves_the_policy_with_its_share_and_logs_the_true_propensity():
    rounds, share = 3000, 0.3
    world = World([0.5] * 3, rollout={"mode": "capped", "share": share})
    world.play(50)  # until every arm was played once, which the policy does first
    world.events.clear()
    world.play(rounds)
    arms = np.array([event.body["arm"] for event in world.events])
    for arm, chance in enumerate((0.1, 0.8, 0.1)):
        assert {
            round(event.body["propensity"], 12)
            for event in world.events
            if event.body["arm"] == arm
        } == {chance}
        assert abs((arms == arm).mean() - chance) < 4 * math.sqrt(chance * (1 - chance) / rounds)


def test_production_of_several_arms_lets_shadow_say_what_the_policy_earns():
    means = np.array([0.2, 0.4, 0.9])
    world = World(
        means,
        baseline=None,
        rollout={"mode": "shadow", "production": {"low": 0.25, "mid": 0.5, "high": 0.25}},
    )
    world.play(2000)
    told = world.experiment.rollout.report()["estimate"]
    for name, truth in (("policy", means.mean()), ("baseline", means @ [0.25, 0.5, 0.25])):
        assert abs(told[name]["value"] - truth) < 4 * told[name]["se"]
    low, high = told["difference"]
    assert low < means.mean() - means @ [0.25, 0.5, 0.25] < high


def test_without_overlap_the_estimate_is_refused_with_its_reason():
    world = World(
        [0.2, 0.5, 0.8], rollout={"mode": "shadow", "promote": {"shadow": {"better": True}}}
    )
    assert world.play(400) == []
    told = world.experiment.rollout.report()["estimate"]
    assert told["policy"] is None and told["difference"] is None
    assert "not enough overlap" in told["verdict"] and "never plays" in told["verdict"]


def test_a_better_policy_goes_through_all_modes_and_a_worse_one_does_not():
    rules = {"apprentice": {"after": 50}, "shadow": {"after": 60}, "capped": {"better": True}}
    rollout = {"share": 0.5, "promote": rules}
    good = World([0.9, 0.1, 0.9], rollout=rollout).play(700)
    assert [body["mode"] for body in good] == ["shadow", "capped", "full"] and "better" in good[-1][
        "why"
    ]
    bad = World([0.1, 0.9, 0.1], rollout=rollout).play(700)
    assert (
        [body["mode"] for body in bad] == ["shadow", "capped", "shadow"]
        and bad[-1]["held"]
        and "worse" in bad[-1]["why"]
    )


def test_false_promotions_are_no_more_than_the_error():
    """All arms alike, so that neither is better: the hardest case. Looked at every 20 rounds."""
    runs, rounds, share, error = 100, 160, 0.5, 0.2
    noise, promoted = np.random.default_rng(1), 0
    for _ in range(runs):
        evidence = Evidence(error)
        policys, wanted, rewards = (
            noise.random(rounds) < share,
            noise.integers(0, 2, rounds),
            noise.random(rounds) < 0.5,
        )
        for t in range(rounds):
            arm = (
                wanted[t] if policys[t] else 0
            )  # arm 0 is the baseline, the policy plays both alike
            h = (1 - share) + share / 2 if arm == 0 else share / 2
            evidence.open(str(t), Weights(0.5 / h, (arm == 0) / h, True))
            evidence.end(str(t), float(rewards[t]))
            if t % 20 == 19 and evidence.verdict("capped") == "better":
                promoted += 1
                break
    assert promoted / runs <= error + 4 * math.sqrt(error * (1 - error) / runs)


def test_the_evidence_is_a_confidence_sequence_and_takes_rewards_in_the_order_of_decisions():
    noise = np.random.default_rng(2)
    n = 200
    w, v, r = noise.random(n) * 2, noise.random(n) * 2, noise.random(n)
    twin = ConfidenceSequence(0.2, k=0.0)
    twin.update((w * r + v * (1 - r)) / 2, (v * r + w * (1 - r)) / 2)
    evidence, other = Evidence(0.1), Evidence(0.1)
    for t in range(n):
        evidence.open(str(t), Weights(w[t], v[t], True))
        other.open(str(t), Weights(w[t], v[t], True))
        evidence.end(str(t), r[t])
    for t in [*range(1, n)][::-1]:
        other.end(str(t), r[t])
    assert other.rounds == 0  # all wait for the first
    other = Evidence.unpack(other.pack())
    other.end("0", r[0])
    assert other.pack() == evidence.pack()
    low, high = twin.bounds
    np.testing.assert_allclose(evidence.difference(), (2 * low - 1, 2 * high - 1), atol=1e-12)


def test_a_policy_that_turns_bad_is_sent_back_before_its_budget_is_gone():
    guard = {"policy": "UCB", "baseline_mean": 0.5, "alpha": 0.2, "guarantee": {"sigma": 0.5}}
    world = World([0.5, 0.5, 1.0], **guard, rollout={"mode": "full", "least_budget": 300.0})
    assert world.play(800) == []
    assert world.experiment.rollout.budgets[""] > 400
    (back,) = world.play(600, [0.0, 0.5, 0.0])
    assert back["mode"] == "shadow" and back["held"] and "budget" in back["why"]
    true = sum((1.0 if e.body["arm"] == 2 else 0.5) - 0.4 for e in world.events[:800])
    true += sum(
        (0.5 if e.body["arm"] == 1 else 0.0) - 0.4
        for e in world.events[800:]
        if e.kind == "decided"
    )
    assert true > 0
    world.play(200)
    assert world.events[-1].body["name"] == "mid"
    assert world.experiment.rollout.mode == "shadow"  # rules wait for a command


def test_the_return_follows_the_decision_that_measured_the_budget(service):
    """Every round without the baseline costs .475, what it would have earned, so the bound falls
    below -1 with the third decision, and no fourth one is risked."""
    guard = {
        "policy": "UCB",
        "baseline_mean": 0.5,
        "alpha": 0.05,
        "guarantee": {"sigma": 0.5},
        "window": None,
    }
    create(service, SPEC | guard)
    for n in range(3):
        assert ask(service, commands.describe_rollout)["mode"] == "full"
        decide(service, f"d{n}", excluded=["mid"])
    assert ask(service, commands.describe_rollout)["held"]
    assert decide(service)["arm"] == "mid"
    assert [e.kind for e in written(service)][-3:] == ["decided", "mode changed", "decided"]


def test_a_policy_that_has_done_nothing_yet_is_not_sent_back(service):
    """psi is charged before anything was explored; that is no loss."""
    guard = {"baseline_mean": 0.5, "alpha": 0.05, "guarantee": {"martingale": "freedman"}}
    create(service, SPEC | {"policy": "CUCB2", "window": None} | guard)
    for n in range(60):
        reward(service, decide(service)["id"], n % 2)
    told = ask(service, commands.describe_rollout)
    assert told["mode"] == "full" and told["budget_bound"] == pytest.approx(60 * 0.025)


def written(service, row=1):
    with service.database.read() as connection:
        return list(log.read(connection, row))


def test_policies_with_features_of_each_round_go_back_too(service):
    guard = {
        "policy": "LinUCB",
        "dimension": 2,
        "baseline_mean": 0.5,
        "alpha": 0.05,
        "guarantee": {"sigma": 0.5, "arm_bound": 2.0},
    }
    create(service, SPEC | guard)
    for n in range(3):
        decide(
            service,
            f"d{n}",
            context={"low": [1.0, 0.0], "mid": [0.5, 0.5], "high": [0.0, 1.0]},
            excluded=["mid"],
        )
    told = ask(service, commands.describe_rollout)
    assert (
        told["held"]
        and told["mode"] == "shadow"
        and told["budget_bound"] == pytest.approx(3 * -0.475)
    )


def test_sets_have_a_budget_and_stay_full(service):
    arms = [
        {"id": f"f{k}", "features": row}
        for k, row in enumerate([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [0.5, -0.5]])
    ]
    spec = {
        "name": "price",
        "policy": "C2UCB",
        "arms": arms,
        "oracle": {"oracle": "TopK", "k": 2},
        "window": None,
        "alpha": 0.05,
    }
    create(service, spec | {"baseline": ["f0", "f1"], "baseline_mean": 1.0})
    for n in range(41):
        decide(service, f"d{n}", excluded=["f0"])
    told = ask(service, commands.describe_rollout)
    assert (
        told["mode"] == "full"
        and not told["held"]
        and told["budget_bound"] == pytest.approx(41 * -0.95)
    )


def test_a_baseline_inside_the_policy_is_refused(service):
    inside = {
        "policy": {"policy": "CUCB2", "baseline": 0, "baseline_mean": 0.5, "alpha": 0.05},
        "baseline": None,
        "window": None,
    }
    for wrong in (
        inside,
        {"policy": "UCB", "alpha": 0.05, "guarantee": {"baseline": 0}},
        {"policy": "UCB", "guarantee": {"baseline_mean": 0.5}},
    ):
        with pytest.raises(ValueError, match="beside policy"):
            warm_up(ExperimentSpec.model_validate(SPEC | wrong))
        refused(422, create, service, SPEC | wrong, match="beside policy")


def test_modes_replay_to_the_bit_and_go_on_after_a_restart(tmp_path, clock):
    spec = SPEC | {"rollout": {"mode": "shadow", "share": 0.5}}
    with service_at(tmp_path / "a.db", clock, snapshot_every=40) as service:
        create(service, spec)
        for n in range(60):
            decide(service, f"d{n}")
            if n % 3:
                reward(service, f"d{n}", n % 2)
            if n == 20:
                assert (
                    ask(service, commands.change_mode, ModeChange(mode="capped"))["mode"]
                    == "capped"
                )
        told, evidence = state(service), ask(service, commands.describe_rollout)
    with service_at(tmp_path / "a.db", clock) as service:
        assert (
            state(service)["fingerprint"] == told["fingerprint"]
            and ask(service, commands.describe_rollout) == evidence
        )
        with service.database.read() as connection:
            ((row, name),) = log.rows_and_names(connection, "price")
            found = replay(connection, row, name)
            (change,) = [
                event.body for event in log.read(connection, row) if event.kind == "mode changed"
            ]
        assert found.errors == () and found.compared >= 2 and found.disagreements == 0
        assert (change["by"], change["before"], change["mode"]) == ("command", "shadow", "capped")


def test_what_cannot_be_rolled_out_is_refused(service):
    with pytest.raises(ValueError, match="what is in production"):
        check_spec(ExperimentSpec.model_validate(SPEC | {"baseline": None, "rollout": {}}))
    with pytest.raises(ValueError, match="adds up to"):
        create(service, SPEC | {"rollout": {"production": {"low": 0.5, "mid": 0.4}}})
    create(service, SPEC | {"rollout": {}})
    refused(422, decide, service, "a", excluded=["mid"], match="no arm of production")
    create(service, SPEC | {"name": "free", "baseline": None})
    refused(
        409,
        ask,
        service,
        commands.change_mode,
        ModeChange(mode="shadow"),
        name="free",
        match="has no baseline",
    )
