"""Three barrels of which one is killed again and again, under constant questions, while documents arrive.

With ``TARANTULA_FULL_SIZE`` for a minute, otherwise for some seconds.
"""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread

import pytest
from sqlalchemy import select

from tarantula.config import Config
from tarantula.db import Database, open_database
from tarantula.models import Barrel
from tarantula.search.remote import RemoteFinder
from tarantula.search.results import Order, Request
from tarantula.store.journal import Follower, Happened
from tests.barrels import arrive, new_item, start_barrel, start_gateway
from tests.collecting import PATIENCE

SECONDS = (
    {"postgresql": 60.0, "sqlite": 30.0}
    if os.environ.get("TARANTULA_FULL_SIZE")
    else {
        "postgresql": 5.0,
        "sqlite": 2.0,
    }
)
CLIENTS, BARRELS = 4, 3
EVERYTHING = Request(query="everywhere", order=Order.NEWEST)


class Questions:
    """Several who ask without end, and what must hold of every answer."""

    def __init__(self, address: str) -> None:
        self.answers: set[tuple[int, int]] = set()
        """Places, with how many documents were found from there."""
        self.number = 0
        self.failures: list[BaseException] = []
        self.longest = 0.0
        self._finder = RemoteFinder(address)
        self._lock = Lock()
        self._given = 0

    def ask(self, ending: Event) -> None:
        """Ask until *ending*: no question fails, and no answer goes back behind one that came before."""
        try:
            while not ending.is_set():
                self._ask_once()
        except BaseException as error:
            self.failures.append(error)

    def forgive(self, kill: Callable[[], int]) -> None:
        """Kill a barrel; what only that one had answered with may be missing until others have it."""
        with self._lock:
            self._given = min(self._given, kill())

    def _ask_once(self) -> None:
        with self._lock:
            given = self._given
        began = time.monotonic()
        found = self._finder.find(EVERYTHING)
        took = time.monotonic() - began
        with self._lock:
            assert found.place >= min(given, self._given), f"{found.place} after {given}"
            self._given = max(self._given, found.place)
            self.answers.add((found.place, found.documents))
            self.number += 1
            self.longest = max(self.longest, took)


class Fleet:
    """Barrels, each in a folder of its own."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder
        self._processes = [self._start(number) for number in range(BARRELS)]

    def addresses(self) -> list[str]:
        """Return where they are."""
        return [address for _, address in self._processes]

    def kill(self, number: int) -> int:
        """Kill one, and return how far the others are."""
        process, address = self._processes[number]
        process.kill()
        process.communicate()
        with self._database.reading() as session:
            rows = session.execute(select(Barrel.address, Barrel.place).where(Barrel.is_ready)).all()
        alive = set(self.addresses()) - {address}
        return max((place for its_address, place in rows if its_address in alive), default=0)

    def start(self, number: int) -> None:
        """Start one again."""
        self._processes[number] = self._start(number)

    def places(self) -> set[int]:
        """Return where they are in the journal; nowhere, if one is not ready."""
        with self._database.reading() as session:
            rows = session.execute(select(Barrel.is_ready, Barrel.place).where(Barrel.address.in_(self.addresses())))
            found = [row.place if row.is_ready else -1 for row in rows]
        return set(found) if len(found) == BARRELS else {-1}

    def _start(self, number: int) -> tuple[subprocess.Popen[str], str]:
        return start_barrel(self._folder / str(number))


@contextmanager
def going_on(*jobs: Callable[[Event], None]) -> Iterator[None]:
    """Let jobs go on meanwhile, each in a thread."""
    ending = Event()
    threads = [Thread(target=job, args=(ending,)) for job in jobs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ending.set()
        for thread in threads:
            thread.join()


def arriving(database: Database, urn: str, name: str, is_slow: bool) -> Callable[[Event], None]:
    """Return a job by which documents arrive; the numbers of slow transactions are older than what they follow."""

    def go_on(ending: Event) -> None:
        number = 0
        while not ending.wait(0.05):
            number += 1
            texts = {f"{name}/{number}/{each}": f"it is everywhere, {name} {number}" for each in range(3)}
            arrive(database, urn, texts, hesitating=random.random() * 0.3 if is_slow else 0.0)

    return go_on


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def read_up_to(database: Database) -> Callable[[int], int]:
    """Return what tells how many documents the journal has up to a place."""
    with database.reading() as session:
        entries = Follower(0, [Happened.READ]).next(session.connection(), 1_000_000)
    return lambda place: sum(len(entry.documents) for entry in entries if entry.id <= place)


def everything(address: str) -> list[int]:
    """Return every document that a barrel has, asked page by page."""
    finder = RemoteFinder(address)
    first = finder.find(EVERYTHING)
    pages = [first, *(finder.find(EVERYTHING.model_copy(update={"page": page})) for page in range(2, first.pages + 1))]
    return sorted(result.document for page in pages for result in page.results)


@pytest.mark.parametrize("kind", ["postgresql", "sqlite"])
def test_no_question_fails_and_no_answer_goes_back(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    config: Config = request.getfixturevalue(f"{kind}_config")
    with open_database(config) as database:
        urn = new_item(database)
        arrive(database, urn, {"first": "it is everywhere"})
        _, gateway = start_gateway()
        fleet = Fleet(database, tmp_path)
        wait_for(lambda: -1 not in fleet.places())
        questions = Questions(gateway)
        writers = [arriving(database, urn, "quick", False)]
        if kind == "postgresql":
            writers.append(arriving(database, urn, "slow", True))
        with going_on(*[questions.ask] * CLIENTS):
            with going_on(*writers):
                kills = kill_in_turn(fleet, questions, SECONDS[kind])
            wait_for(lambda: len(fleet.places()) == 1 and -1 not in fleet.places())
        assert questions.failures == []
        truth = read_up_to(database)
        assert questions.answers == {(place, truth(place)) for place, _ in questions.answers}
        last = max(place for place, _ in questions.answers)
        found = [everything(address) for address in fleet.addresses()]
        assert found[0] == found[1] == found[2]
        assert len(found[0]) == truth(last) == truth(10**9)
    print(
        kind, f"{questions.number} questions, {kills} kills, {len(questions.answers)} places, {questions.longest:.3f} s"
    )
    assert kills >= 2
    assert len(questions.answers) > 5


def kill_in_turn(fleet: Fleet, questions: Questions, seconds: float) -> int:
    """Kill one barrel after the other, and start each again when it was away for a moment."""
    kills, end = 0, time.monotonic() + seconds
    while time.monotonic() < end and not questions.failures:
        number = kills % BARRELS
        questions.forgive(lambda number=number: fleet.kill(number))
        time.sleep(0.2)
        fleet.start(number)
        kills += 1
        # At least one of the others has to be there when the next is killed.
        wait_for(lambda: -1 not in fleet.places())
        time.sleep(0.5)
    return kills
