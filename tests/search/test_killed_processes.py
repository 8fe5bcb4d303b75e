"""Three barrels under constant queries, one of them killed again and again, while documents arrive.

With ``TARANTULA_FULL_SIZE`` it is killed more often.
"""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread

import pytest
from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Barrel
from tarantula.search.barrels.client import GatewayClient
from tarantula.search.barrels.signatures import SearchKeys
from tarantula.search.results import BarrelSearchRequest, SearchOrder, SearchRequest
from tarantula.store.database import open_database
from tarantula.store.journal import JournalFollower, JournalKind, last_visible_id
from tests.support.barrels import arrive, new_item, start_barrel, start_gateway
from tests.support.waits import eventually

KILLS = {"postgresql": 40, "sqlite": 20} if os.environ.get("TARANTULA_FULL_SIZE") else {"postgresql": 3, "sqlite": 1}
CLIENTS, BARRELS = 4, 3
EVERYTHING = SearchRequest(query="everywhere", order=SearchOrder.NEWEST)


class Questions:
    """Threads that query without pause, and check every answer."""

    def __init__(self, finder: GatewayClient) -> None:
        self.answers: set[tuple[int, int]] = set()
        """Number of documents found, by position."""
        self.number = 0
        self.failures: list[BaseException] = []
        self.longest = 0.0
        self._finder = finder
        self._lock = Lock()
        self._given = 0
        self._kills = 0

    def ask(self, ending: Event) -> None:
        """Query until *ending*: no query fails, and no answer goes back behind an earlier one."""
        try:
            while not ending.is_set():
                self._ask_once()
        except BaseException as error:
            self.failures.append(error)

    def forgive(self, kill: Callable[[], int]) -> None:
        """Kill a barrel; documents that only it had may be missing until others have them."""
        with self._lock:
            self._given = min(self._given, kill())
            self._kills += 1

    def _ask_once(self) -> None:
        with self._lock:
            given, kills = self._given, self._kills
        began = time.monotonic()
        found = self._finder.find(EVERYTHING)
        took = time.monotonic() - began
        with self._lock:
            assert found.place >= min(given, self._given), f"{found.place} after {given}"
            # An answer during a kill may have come from the killed barrel.
            self._given = max(self._given, found.place if kills == self._kills else 0)
            self.answers.add((found.place, found.documents))
            self.number += 1
            self.longest = max(self.longest, took)


class Fleet:
    """Barrels, each in its own folder."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder
        self._processes = [self._start(number) for number in range(BARRELS)]

    def addresses(self) -> list[str]:
        """Return their addresses."""
        return [address for _, address in self._processes]

    def kill(self, number: int) -> int:
        """Kill a barrel; return the positions of the others."""
        process, address = self._processes[number]
        process.kill()
        process.communicate()
        with self._database.reading() as session:
            rows = session.execute(select(Barrel.address, Barrel.place).where(Barrel.is_ready)).all()
        alive = set(self.addresses()) - {address}
        return max((place for its_address, place in rows if its_address in alive), default=0)

    def start(self, number: int) -> None:
        """Start a barrel again."""
        self._processes[number] = self._start(number)

    def is_ready(self) -> bool:
        """Return whether all barrels are ready."""
        return len(self.places()) == BARRELS

    def places(self) -> list[int]:
        """Return the positions of the ready barrels."""
        ready = select(Barrel.place).where(Barrel.is_ready, Barrel.address.in_(self.addresses()))
        with self._database.reading() as session:
            return list(session.scalars(ready))

    def _start(self, number: int) -> tuple[subprocess.Popen[str], str]:
        return start_barrel(self._folder / str(number))


@contextmanager
def going_on(*jobs: Callable[[Event], None]) -> Iterator[None]:
    """Run jobs in threads."""
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
    """Return a job that adds documents; slow transactions have older journal ids than what they follow."""

    def go_on(ending: Event) -> None:
        number = 0
        while not ending.wait(0.05):
            number += 1
            texts = {f"{name}/{number}/{each}": f"it is everywhere, {name} {number}" for each in range(3)}
            arrive(database, urn, texts, hesitating=random.random() * 0.3 if is_slow else 0.0)

    return go_on


def read_up_to(database: Database) -> Callable[[int], int]:
    """Return a function for the number of documents in the journal up to a position."""
    with database.reading() as session:
        entries = JournalFollower(0, [JournalKind.READ]).next(session.connection(), 1_000_000)
    return lambda place: sum(len(entry.documents) for entry in entries if entry.id <= place)


def last(database: Database) -> int:
    with database.reading() as session:
        return last_visible_id(session.connection())


def everything(address: str) -> list[int]:
    """Return all documents of a barrel, page by page."""
    question = BarrelSearchRequest(**EVERYTHING.model_dump(), withheld=[])
    with closing(GatewayClient(address, SearchKeys(Config()))) as finder:
        pages = [finder.find(question)]
        while len(pages) < pages[0].pages:
            pages.append(finder.find(question.model_copy(update={"page": len(pages) + 1})))
    return sorted(result.document for page in pages for result in page.results)


@pytest.mark.parametrize("kind", KILLS)
def test_no_query_fails_and_no_answer_goes_back(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    config: Config = request.getfixturevalue(f"{kind}_config")
    with open_database(config) as database:
        urn = new_item(database)
        arrive(database, urn, {"first": "it is everywhere"})
        _, gateway = start_gateway()
        fleet = Fleet(database, tmp_path)
        eventually(fleet.is_ready)
        writers = [arriving(database, urn, "quick", False)]
        if kind == "postgresql":
            writers.append(arriving(database, urn, "slow", True))
        finder = GatewayClient(gateway, SearchKeys(config))
        with closing(finder), going_on(*[(questions := Questions(finder)).ask] * CLIENTS):
            with going_on(*writers):
                kill_in_turn(fleet, questions, KILLS[kind])
            eventually(lambda: fleet.is_ready() and set(fleet.places()) == {last(database)})
        assert questions.failures == []
        read = read_up_to(database)
        assert questions.answers == {(place, read(place)) for place, _ in questions.answers}
        found = [everything(address) for address in fleet.addresses()]
        assert found[0] == found[1] == found[2]
        assert len(found[0]) == read(2**62)
    assert len(questions.answers) > KILLS[kind]
    print(f"{questions.number} questions, {len(questions.answers)} places, {questions.longest:.2f} s")


def kill_in_turn(fleet: Fleet, questions: Questions, kills: int) -> None:
    """Kill one barrel after the other, and start each again after a moment."""
    for number in range(kills):
        questions.forgive(partial(fleet.kill, number % BARRELS))
        time.sleep(0.3)
        fleet.start(number % BARRELS)
        # Wait for the previous one, so that a barrel remains.
        eventually(fleet.is_ready)
        time.sleep(0.2)
