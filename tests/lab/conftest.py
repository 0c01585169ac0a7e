"""Clusters of two processes, started once for the tests of a file; helpers of the tests here and of
the service."""

import os
import pathlib
import sys

import pytest

HERE = str(pathlib.Path(__file__).parent)
sys.path[:0] = [HERE, str(pathlib.Path(HERE).parent / "service")]
os.environ["PYTHONPATH"] = os.pathsep.join(
    [HERE, *filter(None, sys.path)]
)  # of drivers and workers that tests start


@pytest.fixture(scope="module", params=["dask", "ray"])
def cluster(request):
    """An engine and the address of a running cluster."""
    from tightrope.simulation.executors import shared_workers

    with shared_workers(request.param, 2, None) as address:
        yield request.param, address
