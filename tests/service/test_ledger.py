"""No bound above the truth, whatever customers and operators do; see `ledger.py`, which plays
thousands of such histories."""

from ledger import played


def test_no_history_has_a_bound_above_the_truth(tmp_path):
    assert not played(tmp_path, range(6), 40)
