"""Figure 3 (top): which runs decide which claim."""

import numpy as np

from tightrope.results import Result
from tightrope_papers.conservative import fig3_mab
from tightrope_papers.conservative.fig3_mab import OTHER, SCALED
from tightrope_papers.conservative.measures import ModelRuns

SHARES = {
    "UCB": 0.1,
    "CUCB-Or": 0.2,
    "CUCB": 1.0,
    "CUCB-L": 0.9,
    "CUCB-M": 0.6,
    "CUCB-S": 0.8,
    "CUCB2": 0.4,
}  # of CUCB's regret


def played(models, runs, **shares):
    """Replication r plays model r % models; a policy's share of CUCB's regret is one number or one
    for each model."""
    noise = np.random.default_rng(0).normal(0.0, 1.0, (models * runs, len(SHARES)))
    shares = SHARES | shares | {f"{name}, {OTHER}": (SHARES | shares)[name] for name in SCALED}
    return Result(
        rounds=np.array([1000]),
        regret={
            name: (
                np.tile(np.broadcast_to(share, models), runs) * 1000.0 + noise[:, i % len(SHARES)]
            )[:, None]
            for i, (name, share) in enumerate(shares.items())
        },
        pulls={},
        watched={},
    )


def verdicts(runs):
    """By claim and row, in the reading that counts."""
    return {row.text: row.verdict for row in fig3_mab.score(runs) if row.key and not row.reading}


def of(found, words):
    (verdict,) = {verdict for text, verdict in found.items() if words in text}
    return verdict


FIGURE = ModelRuns(played(2, 20, CUCB2=[0.4, 0.3]), 2, {"worst": 0, "best": 1})
WITH_MORE = FIGURE._replace(
    shown=played(2, 50, CUCB2=[0.4, 0.3]), pool=(played(3, 40, CUCB2=[0.4, 0.3, 0.35]), 3)
)


def test_what_is_said_of_every_model_is_judged_on_the_most_models():
    """The third model is not among the figure's own two."""
    fine = verdicts(WITH_MORE)
    assert of(fine, "CUCB2 has less regret than CUCB on every model") == "reproduced"
    assert of(fine, "CUCB-S is on no model") == "reproduced"
    third_fails = played(3, 40, **{"CUCB2": [0.4, 0.3, 1.1], "CUCB-S": [0.8, 0.8, 1.2]})
    found = verdicts(WITH_MORE._replace(pool=(third_fails, 3)))
    assert of(found, "CUCB2 has less regret than CUCB on every model") == "not reproduced"
    assert of(found, "CUCB-S is on no model") == "not reproduced"


def test_orders_on_the_worst_model_are_judged_on_its_further_runs():
    """The first model of `shown` is the worst one, whatever its number among all."""
    far, under = (
        "CUCB2 is less than half as far from CUCB-Or as CUCB, worst model (psi with 1/2) (regret)",
        "CUCB-S has less regret than CUCB-L",
    )
    under += ", worst model (psi with 1/2)"
    assert of(verdicts(WITH_MORE), far) == of(verdicts(WITH_MORE), under) == "reproduced"
    fails = played(2, 50, **{"CUCB2": [0.7, 0.3], "CUCB-S": [0.95, 0.8]})
    found = verdicts(WITH_MORE._replace(shown=fails, picked={"worst": 1, "best": 0}))
    assert of(found, far) == of(found, under) == "not reproduced"
    assert of(verdicts(FIGURE._replace(result=fails)), under) == "not reproduced"
    below = played(
        2, 50, **{"CUCB2": [0.1, 0.3], "CUCB-Or": [0.6, 0.2]}
    )  # far from it on the other side
    assert of(verdicts(WITH_MORE._replace(shown=below)), far) == "not reproduced"


def test_a_number_is_compared_with_the_worst_of_draws_of_the_pool():
    """43 % is the gain of CUCB-M on none of the figure's two models, and within the range of the
    pool's."""
    name = "CUCB-M lowers CUCB's regret, worst model over draws of 2 (psi with 1/2)"
    assert of(verdicts(WITH_MORE), name) != "reproduced"
    spread = played(3, 40, **{"CUCB2": [0.4, 0.3, 0.35], "CUCB-M": [0.5, 0.6, 0.7]})
    assert of(verdicts(WITH_MORE._replace(pool=(spread, 3))), name) == "reproduced"


def test_one_run_of_a_model_decides_no_number():
    """At laptop scale nothing is known of the noise of a single model."""
    name, shares = (
        "CUCB-M lowers CUCB's regret, worst model over draws",
        {"CUCB2": [0.4, 0.39], "CUCB-M": [0.5, 0.6]},
    )
    picked = {"worst": 0, "best": 1}
    assert of(verdicts(ModelRuns(played(2, 30, **shares), 2, picked)), name) == "reproduced"
    assert of(verdicts(ModelRuns(played(2, 1, **shares), 2, picked)), name) == "undecided"
