"""Sizes of states before they are made: what `init` then takes, and files that ask for more than
they hold."""

import numpy as np
import pytest

import tightrope as tr
from session import strangers
from tightrope.core.verbs import Arms, init
from tightrope.session.codec import flatten, state_bytes

CASES = [
    (tr.UCB(), {}),
    (tr.LinUCB(), {"dimension": 7}),
    (tr.LinUCB(shared=False), {"dimension": 7}),
    (tr.LinTS(), {"dimension": 7, "common": True}),
    (tr.SoftUCB(), {"dimension": 5, "common": True}),
    (tr.LinMED(), {"dimension": 6}),
    (tr.SquareCB(), {"dimension": 6, "common": True}),
    (tr.Safe(tr.LinUCB(), baseline=0, baseline_mean=0.5), {"dimension": 4}),
    (tr.C2UCB(), {"dimension": 4, "oracle": tr.oracles.TopK(2)}),
]


@pytest.mark.parametrize(
    ("policy", "told"),
    CASES,
    ids=lambda item: type(item).__name__ if not isinstance(item, dict) else "",
)
def test_the_size_of_a_state_is_known_before_it_is_made(policy, told):
    arms = Arms(50, **told)
    assert state_bytes(policy, arms) == sum(
        array.nbytes for array in flatten(init(policy, arms)).values()
    )


def test_a_file_that_asks_for_a_regression_for_every_arm_must_hold_them(tmp_path):
    session = tr.Session(tr.LinUCB(shared=False), arms=3, dimension=2)
    header, arrays = strangers.opened(session.to_bytes())
    header["arms"] |= {"number": 2000, "dimension": 400}  # 5 GB
    arrays["padding"] = np.zeros(400 * 400)
    strangers.write(tmp_path / "s", header, arrays)
    with pytest.raises(
        ValueError,
        match=r"2000 arms of dimension 400, whose state a file of .* bytes does not hold",
    ):
        tr.Session.load(tmp_path / "s")
