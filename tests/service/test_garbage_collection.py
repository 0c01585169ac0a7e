"""The collector of a serving process: what is new stays, rings are found in the end, and a process that does other things is left alone."""

import dataclasses
import gc
import weakref

import pytest

from tightrope.service.runtime.garbage_collection import FEW_EVENTS, MANY, RARE, RegularFreeze, rare_collections
from tightrope.service.runtime.settings import Settings


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
    freeze = RegularFreeze(dataclasses.replace(Settings(), own_process=True))
    left_before = ring()
    freeze.events = FEW_EVENTS
    freeze.tick()
    assert left_before() is None  # it had been left already
    assert gc.get_freeze_count() > 1000
    node = Node()
    node.itself, left_later = node, weakref.ref(node)
    freeze.events = FEW_EVENTS
    freeze.tick()
    del node
    gc.collect()
    assert left_later() is not None  # kept while it was in use: the collector does not look
    freeze.events = MANY
    freeze.tick()
    assert left_later() is None


def test_few_events_and_processes_that_do_other_things_are_left_alone():
    gc.unfreeze()
    freeze = RegularFreeze(dataclasses.replace(Settings(), own_process=True))
    freeze.events = FEW_EVENTS - 1
    freeze.tick()
    other = RegularFreeze(Settings())
    other.events = MANY
    other.tick()
    assert gc.get_freeze_count() == 0


def test_the_usual_thresholds_come_back():
    usual = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), rare_collections():
        assert gc.get_threshold() == RARE
        raise ZeroDivisionError
    assert gc.get_threshold() == usual
