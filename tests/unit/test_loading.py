"""Modules that are loaded beside a person who types."""

import gc
import sys

import pytest

from paicli.loading import load


@pytest.fixture(autouse=True)
def as_before():
    yield
    gc.unfreeze()


def test_what_is_loaded_is_no_longer_looked_through_for_garbage():
    frozen = gc.get_freeze_count()
    load("colorsys")
    assert "colorsys" in sys.modules
    assert gc.get_freeze_count() > frozen
    assert gc.isenabled()


def test_a_module_that_fails_leaves_the_collector_on():
    with pytest.raises(ModuleNotFoundError):
        load("no_such_module_at_all")
    assert gc.isenabled()
