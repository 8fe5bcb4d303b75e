"""Runs a command. Whatever goes wrong is said in a sentence, and never with a traceback."""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

from tarantula.core.errors import TarantulaError

EXIT_REFUSED = 2
EXIT_BUG = 1
EXIT_INTERRUPTED = 130
"""The exit code of a command that was stopped by Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command that was typed, and leave with its exit code."""
    # What it says of a query that Ctrl-C cut short is for nobody to read.
    logging.getLogger("sqlalchemy").addHandler(logging.NullHandler())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        _run(arguments)
    except TarantulaError as error:
        _leave(str(error), EXIT_REFUSED)
    except BrokenPipeError:
        # Whoever was reading has seen enough.
        sys.exit(0)
    except OSError as error:
        _leave(_of_the_system(error), EXIT_REFUSED)
    except Exception as error:
        if os.environ.get("TARANTULA_DEBUG"):
            raise
        _leave(_of_a_bug(error), EXIT_BUG)
    sys.exit(0)


def restore_signal_handlers() -> None:
    """Let Ctrl-C mean what it usually does, once Scrapy is done with it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _run(arguments: Sequence[str] | None) -> None:
    from tarantula.cli.nouns import root_command

    try:
        root_command()(args=arguments, prog_name="tarantula")
    finally:
        _flush()


def _flush() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        # Python would try again on its way out, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _leave(sentences: str, code: int) -> NoReturn:
    print(sentences, file=sys.stderr)
    sys.exit(code)


def _of_the_system(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return "There is no room left on the disk. Free some room and try again; what was stored before is kept."
    return f"{error.filename or 'A file'} cannot be used: {error.strerror or error}."


def _of_a_bug(error: Exception) -> str:
    told = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return f"This is a bug of Tarântula ({told}). What happened is in {_write_log(error)}."


def _write_log(error: Exception) -> Path:
    entry = f"{datetime.now(UTC).isoformat()} {' '.join(sys.argv)}\n{''.join(traceback.format_exception(error))}\n"
    home = Path(os.environ.get("TARANTULA_HOME") or "tarantula-home").expanduser().absolute()
    for directory in (home, Path(tempfile.gettempdir())):
        try:
            with (directory / "tarantula.log").open("a", encoding="utf-8", errors="backslashreplace") as log:
                log.write(entry)
            return Path(log.name)
        except OSError:
            continue
    return Path(os.devnull)
