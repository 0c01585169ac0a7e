import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from running import Clock, office_at


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def office(tmp_path, clock):
    """A service without HTTP on a new SQLite file, with a clock that the test moves."""
    with office_at(tmp_path / "a.db", clock) as running:
        yield running
