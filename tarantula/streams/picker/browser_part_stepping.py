"""Steps, taken in a browser, with a sentence for the one that cannot be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tarantula.core.errors import TarantulaError
from tarantula.streams.sources.config_part_steps import BrowserAction, BrowserStep
from tarantula.streams.sources.request_part_variables import fill_variables

if TYPE_CHECKING:
    from playwright.async_api import Page

STEP_TIMEOUT_SECONDS = 10.0
"""Seconds for one step."""
SETTLE_SECONDS = 5.0
"""Seconds that scripts get to come to rest after a step."""


async def take_steps(page: Page, steps: Sequence[BrowserStep], variables: Mapping[str, str]) -> None:
    """Do one after the other."""
    from playwright.async_api import Error as PlaywrightError
    from playwright.async_api import TimeoutError as TooLate

    for number, step in enumerate(steps, 1):
        where, value = fill_variables(step.where, variables), fill_variables(step.value, variables)
        try:
            await _take(page, step.action, where, value)
        except TooLate as error:
            raise TarantulaError(
                f"Step {number} ({step.action} {step.where[:80]}) could not be done: "
                f"nothing fits it within {STEP_TIMEOUT_SECONDS:g} seconds."
            ) from error
        except PlaywrightError as error:
            raise TarantulaError(
                f"Step {number} ({step.action} {step.where[:80]}) could not be done: {_first_line(error)}"
            ) from error
        await wait_until_settled(page)


async def wait_until_settled(page: Page) -> None:
    """Wait until a page has come to rest, but not for ever."""
    from playwright.async_api import Error as PlaywrightError

    with suppress(PlaywrightError):
        await page.wait_for_load_state("networkidle", timeout=SETTLE_SECONDS * 1000)


async def _take(page: Page, action: BrowserAction, where: str, value: str) -> None:
    patience = STEP_TIMEOUT_SECONDS * 1000
    match action:
        case BrowserAction.GO:
            await page.goto(where, timeout=patience)
        case BrowserAction.FILL:
            await page.fill(where, value, timeout=patience)
        case BrowserAction.CHOOSE:
            await page.select_option(where, value, timeout=patience)
        case BrowserAction.CLICK:
            await page.click(where, timeout=patience)
        case BrowserAction.WAIT:
            await page.wait_for_selector(where, timeout=patience)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".") + "."
