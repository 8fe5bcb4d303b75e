"""Entry point of the ``tarantula`` command: exit codes, and one sentence instead of a traceback."""

from __future__ import annotations

import errno
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

from tarantula.core.errors import TarantulaError
from tarantula.core.files import restrict_new_files
from tarantula.core.output import escape_entry, escape_line, protect_output
from tarantula.core.process import raise_open_files_limit
from tarantula.core.termination import EXIT_BUG, EXIT_REFUSED


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its code."""
    restrict_new_files()
    raise_open_files_limit()
    # SQLAlchemy logs queries that Ctrl-C interrupts; users cannot do anything about them.
    logging.getLogger("sqlalchemy").addHandler(logging.NullHandler())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    protect_output()
    try:
        _run(arguments)
    except TarantulaError as error:
        _exit(str(error), EXIT_REFUSED)
    except BrokenPipeError:
        # The reader of a pipe has closed it.
        sys.exit(0)
    except OSError as error:
        _exit(_system_error_text(error), EXIT_REFUSED)
    except Exception as error:
        if os.environ.get("TARANTULA_DEBUG"):
            raise
        _exit(_bug_text(error), EXIT_BUG)
    sys.exit(0)


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
        # Otherwise Python flushes again at exit and prints another error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _exit(message: str, code: int) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(code)


def _system_error_text(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return "The disk is full. Free some space and try again; everything stored before is intact."
    return f"{error.filename or 'A file'} cannot be used: {error.strerror or error}."


def _bug_text(error: Exception) -> str:
    summary = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return f"This is a bug in Tarântula ({summary}). The details are in {_write_log(error)}."


def _write_log(error: Exception) -> Path:
    trace = "".join(traceback.format_exception(error))
    entry = f"{datetime.now(UTC).isoformat()} {escape_line(' '.join(sys.argv))}\n{escape_entry(f'    {trace}')}\n\n"
    home = Path(os.environ.get("TARANTULA_HOME") or "tarantula-home").expanduser().absolute()
    for directory in (home, Path(tempfile.gettempdir())):
        try:
            with (directory / "tarantula.log").open("a", encoding="utf-8", errors="backslashreplace") as log:
                log.write(entry)
            return Path(log.name)
        except OSError:
            continue
    return Path(os.devnull)
