"""Long commands that are ended by SIGTERM or Ctrl-C clean up, say how to continue, and are continued."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tarantula.archive.fixity import verify_item
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.files import file_lock
from tests.support.archived_items import archive
from tests.support.command_result import Tarantula
from tests.support.crawls import TARANTULA, run, start, wait_until
from tests.support.item_contents import files

ENDINGS = {
    "item export {urn} --format bagit": "Item {urn} is not exported, and nothing is left of the attempt.",
    "item convert {urn}": "Item {urn} is not converted yet. `tarantula item convert {urn}` continues.",
    "verify {urn}": "Not all files were read. Continue with `tarantula verify {urn} --since ",
    "backup {home}/backup": "The backup is not complete. The same command continues with what is missing.",
}
"""Commands that read the file of an item, with the beginning of what they say."""


def left(config: Config) -> list[str]:
    """Return what a command has begun and not finished."""
    folders = (config.home / "exports", config.home / "backup" / "generations")
    return sorted(path.name for folder in folders if folder.is_dir() for path in folder.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("command", ENDINGS)
def test_a_command_that_is_ended_cleans_up_and_continues(
    sqlite: Database, config: Config, command: str, number: signal.Signals
) -> None:
    urn = archive(sqlite, config)
    verify_item(config, sqlite, urn)
    (path,) = files(config, urn)
    arguments = command.format(urn=urn, home=config.home).split()
    whole = path.read_bytes()
    path.unlink()
    # Opening it waits for a writer, so that the signal comes in the middle of the work.
    os.mkfifo(path)
    process = start([TARANTULA, *arguments])
    wait_until(lambda: is_waiting_for(process.pid, path), process)
    process.send_signal(number)
    _, err = process.communicate()
    assert (process.returncode, err.startswith(ENDINGS[command].format(urn=urn))) == (128 + number, True), err
    assert left(config) == []
    path.unlink()
    path.write_bytes(whole)
    code, _, err = run(TARANTULA, *arguments)
    assert (code, err) == (0, "")


def is_waiting_for(pid: int, path: Path) -> bool:
    """Whether a process waits for the other end of a FIFO to be opened."""
    try:
        return Path(f"/proc/{pid}/wchan").read_text() in ("wait_for_partner", "fifo_open")
    except OSError:
        return False


def test_what_a_killed_export_left_is_removed_by_the_next(
    sqlite: Database, config: Config, tarantula: Tarantula
) -> None:
    urn = archive(sqlite, config)
    scratch = config.home / "exports" / f".{urn}.wacz-abcdefgh"
    scratch.mkdir(parents=True)
    (scratch / f"{urn}.wacz").write_bytes(bytes(100))
    assert tarantula("item", "export", urn).code == 0
    assert left(config) == [f"{urn}.wacz"]


def test_an_export_is_written_by_one_process_at_a_time(sqlite: Database, config: Config, tarantula: Tarantula) -> None:
    urn = archive(sqlite, config)
    path = config.home / "exports" / f"{urn}.wacz"
    path.parent.mkdir()
    with file_lock(path.with_name(f".{path.name}.lock"), remove=True):
        done = tarantula("item", "export", urn)
        assert (done.code, done.err) == (2, f"Another process is writing {path}. Wait until that is done.\n")
    assert tarantula("item", "export", urn).code == 0
