"""The collector's keeper: what is new stays, rings are found in the end, and a process that does other things is left alone."""

import dataclasses
import gc
import weakref

import pytest

from tightrope.service.collector import FEW, MANY, SELDOM, Keeper, seldom
from tightrope.service.settings import Settings


class Node:
    """Something that refers to itself."""


def ring() -> weakref.ref:
    node = Node()
    node.itself = node
    return weakref.ref(node)


@pytest.fixture(autouse=True)
def thawed():
    yield
    gc.unfreeze()


def test_what_is_new_stays_and_rings_are_freed_at_the_next_look_at_all():
    gc.unfreeze()
    keeper = Keeper(dataclasses.replace(Settings(), own_process=True))
    left_before = ring()
    keeper.new = FEW
    keeper.tick()
    assert left_before() is None  # it had been left already
    assert gc.get_freeze_count() > 1000
    node = Node()
    node.itself, left_later = node, weakref.ref(node)
    keeper.new = FEW
    keeper.tick()
    del node
    gc.collect()
    assert left_later() is not None  # kept while it was in use: the collector does not look
    keeper.new = MANY
    keeper.tick()
    assert left_later() is None


def test_few_events_and_processes_that_do_other_things_are_left_alone():
    gc.unfreeze()
    keeper = Keeper(dataclasses.replace(Settings(), own_process=True))
    keeper.new = FEW - 1
    keeper.tick()
    beside = Keeper(Settings())
    beside.new = MANY
    beside.tick()
    assert gc.get_freeze_count() == 0


def test_the_usual_thresholds_come_back():
    usual = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), seldom():
        assert gc.get_threshold() == SELDOM
        raise ZeroDivisionError
    assert gc.get_threshold() == usual
