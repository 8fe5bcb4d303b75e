"""A web with a page that is held back, for tests of processes that are ended at a certain place."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from tests.sites.drawing import page
from tests.sites.manners import held_back
from tests.sites.server import Answer, Web


@pytest.fixture
def gate() -> Event:
    return Event()


@pytest.fixture
def web(gate: Event) -> Iterator[Web]:
    """A base document, and a page that is held back until the gate is opened."""
    with Web({"/": Answer(page("Base", ["/slow"])), "/slow": held_back(gate, Answer(page("Slow")))}) as served:
        yield served
        gate.set()
