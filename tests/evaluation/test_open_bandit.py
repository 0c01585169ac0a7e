"""The Open Bandit Dataset: the loader, and the values that must come out. Skipped without the
data."""

import numpy as np
import pytest

import tightrope as tr
from tightrope.problems.data import DataNotFound, open_bandit

try:
    open_bandit("men", "random")
    MISSING = False
except DataNotFound:
    MISSING = True
needs_data = pytest.mark.skipif(MISSING, reason="the Open Bandit Dataset is not on this machine")


def log_of(found):
    return tr.logs.from_frame(found.log, slot="slot", time="time", arms=found.arms)


@needs_data
@pytest.mark.parametrize(("campaign", "K"), [("men", 34), ("women", 46), ("all", 80)])
def test_the_random_policy_is_uniform_in_every_position(campaign, K):
    found = open_bandit(campaign, "random")
    assert found.arms == K
    assert found.items.shape[0] == K
    assert found.users.shape[0] == found.affinity.shape[0] == 10_000
    assert np.allclose(found.log["propensity"], 1.0 / K)
    assert np.allclose(found.shares.sum(axis=1), 1.0)
    assert (found.log["time"][1:] >= found.log["time"][:-1]).all()
    log = log_of(found)
    assert log.uniform
    assert log.floor == pytest.approx(1.0 / K)


@needs_data
def test_men_from_thompson_sampling_to_uniform():
    e = tr.evaluate(log_of(open_bandit("men", "bts")), np.full(34, 1 / 34), estimator="ips")
    assert (round(e.value, 4), round(e.se, 4), round(e.ess)) == (0.0030, 0.0008, 656)
    assert e.verdict == "enough overlap"
    on_policy = tr.evaluate(log_of(open_bandit("men", "random")), "logged")
    assert (round(on_policy.value, 4), round(on_policy.se, 4)) == (0.0046, 0.0007)
    assert e.interval[0] <= on_policy.value <= e.interval[1]


@needs_data
def test_women_are_refused_for_lack_of_overlap():
    e = tr.evaluate(log_of(open_bandit("women", "bts")), np.full(46, 1 / 46), baseline="logged")
    assert (
        e.verdict == "not enough overlap: effective sample size 2 of 10,000; "
        "log with a "
        "propensity floor "
        "(Explore)"
    )
    assert round(tr.evaluate(log_of(open_bandit("all", "bts")), np.full(80, 1 / 80)).ess) == 340


@needs_data
@pytest.mark.parametrize("campaign", ["men", "women", "all"])
def test_from_random_to_thompson_sampling(campaign):
    random, thompson = open_bandit(campaign, "random"), open_bandit(campaign, "bts")
    e = tr.evaluate(log_of(random), dict(enumerate(thompson.shares)))
    on_policy = tr.evaluate(log_of(thompson), "logged")
    assert e.ess > 1000
    assert abs(e.value - on_policy.value) <= 4.0 * np.hypot(e.se, on_policy.se)
    assert e.interval[0] <= on_policy.value <= e.interval[1]


@pytest.mark.usefixtures("no_data")
def test_without_the_data_the_sentence_says_what_to_do():
    with pytest.raises(DataNotFound, match="put its zip or folder there"):
        open_bandit("men", "random")
    with pytest.raises(ValueError, match="campaign = 'kids' is not one of"):
        open_bandit("kids", "random")


def test_folders_are_read_as_well_and_damaged_ones_refused(tmp_path):
    folder = tmp_path / "random" / "men"
    folder.mkdir(parents=True)
    items = ",item_id,item_feature_0,item_feature_1,item_feature_2,item_feature_3\n"
    (folder / "item_context.csv").write_text(items + "0,0,-0.5,a,c,e\n1,1,0.5,b,c,f\n")
    head = ",timestamp,item_id,position,click,propensity_score," + ",".join(
        f"user_feature_{j}" for j in range(4)
    )
    head += ",user-item_affinity_0,user-item_affinity_1\n"
    late = "0,2019-11-24 00:00:02.5+00:00,1,3,1,0.5,u,v,w,x,0.0,2.0\n"
    early = "1,2019-11-24 00:00:01+00:00,0,1,0,0.5,u,v,y,x,1.0,0.0\n"
    (folder / "men.csv").write_text(head + late + early)
    found = open_bandit("men", "random", data=tmp_path)
    assert found.log["arm"].tolist() == [0, 1]  # in the order of time
    assert (found.log["slot"].tolist(), found.users.shape) == ([0, 2], (2, 5))
    assert found.items.shape == (2, 1 + 2 + 1 + 2)
    assert found.affinity.tolist() == [[1.0, 0.0], [0.0, 2.0]]
    assert found.shares.tolist() == [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    assert tr.evaluate(log_of(found), 1).n == 2
    (folder / "men.csv").write_text(head + late.replace(",3,", ",4,"))
    with pytest.raises(
        ValueError,
        match=r"random/men does not hold the Open Bandit Dataset .*positions from 1 to 3",
    ):
        open_bandit("men", "random", data=tmp_path)
    (folder / "men.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="does not hold the Open Bandit Dataset"):
        open_bandit("men", "random", data=tmp_path)
