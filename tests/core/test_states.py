"""States and transitions."""

from __future__ import annotations

from itertools import product

import pytest

from tarantula.core.errors import TarantulaError
from tarantula.core.states import (
    ITEM_TRANSITIONS,
    STATE_MEANINGS,
    DocumentState,
    ItemState,
    check_transition,
    is_final,
    state_meaning,
)


def test_every_state_of_our_own_has_a_meaning() -> None:
    assert set(STATE_MEANINGS) == set(DocumentState) == set(range(-11, 1))


@pytest.mark.parametrize(
    ("state", "words"), [(200, "HTTP: OK"), (404, "HTTP: Not Found"), (299, "HTTP"), (-6, "waiting")]
)
def test_a_state_can_be_read(state: int, words: str) -> None:
    assert state_meaning(state) == words


def test_waiting_and_being_collected_are_not_final() -> None:
    assert [state for state in DocumentState if not is_final(state)] == [0, -6]


@pytest.mark.parametrize(("old", "new"), list(product(ItemState, ItemState)))
def test_moves_are_those_of_the_table(old: ItemState, new: ItemState) -> None:
    if new in ITEM_TRANSITIONS[old]:
        check_transition("fcul-1", old, new)
    else:
        with pytest.raises(TarantulaError, match=f"Item fcul-1 is {old} and cannot become {new}"):
            check_transition("fcul-1", old, new)
