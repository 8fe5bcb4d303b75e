"""The end of a process: exit codes, SIGTERM, and SIGINT and SIGTERM for child processes.

SIGTERM is a request to hand the work over: end at a safe point, release everything, and leave the rest to others.
Reboots, ``docker stop``, systemd and Kubernetes send SIGTERM. Ctrl-C (SIGINT) is a user's stop.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

EXIT_BUG = 1
EXIT_REFUSED = 2
"""Exit code after wrong input, or an error of the environment."""
EXIT_INCOMPLETE = 3
"""Exit code when something was left out."""
EXIT_INTERRUPTED = 130
"""Exit code after Ctrl-C."""
EXIT_TERMINATED = 128 + signal.SIGTERM
"""Exit code of a process that has handed its work over."""
REPEAT_SECONDS = 2.0
"""A further SIGTERM within this time is the same request: a service manager and a parent process may both send one."""

_received_at: float | None = None
_holds = 0
_is_pending = False


class Terminated(KeyboardInterrupt):
    """SIGTERM was received. What cleans up after Ctrl-C does so after this, too."""


def is_terminating() -> bool:
    """Whether SIGTERM was received."""
    return _received_at is not None


def note_sigterm(notify: Callable[[], None] = lambda: None) -> None:
    """From now on, only remember SIGTERM, and call *notify*; the caller looks at `is_terminating` and ends.

    A second one, later than `REPEAT_SECONDS`, kills the process. One that `sigterm_blocked` kept waiting comes now.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: request_end(notify))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def raise_on_sigterm() -> None:
    """From now on, raise `Terminated` in the main thread on SIGTERM."""
    note_sigterm(_raise)


def block_sigterm() -> None:
    """Let SIGTERM wait until `note_sigterm` or `raise_on_sigterm`: another handler is set meanwhile."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


@contextmanager
def sigterm_blocked() -> Iterator[None]:
    """Let SIGTERM wait, in this thread and in processes that are started meanwhile, until they have set a handler.

    Without it, a process that is still importing its modules would be killed, which counts as a crash.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def check_termination() -> None:
    """Raise `Terminated` if SIGTERM was received."""
    if is_terminating():
        raise Terminated


def request_end(notify: Callable[[], None] = lambda: None) -> None:
    """Handle a SIGTERM: remember the first, and call *notify*; a later one kills the process."""
    global _received_at
    if _received_at is None:
        _received_at = monotonic()
        notify()
    elif monotonic() - _received_at >= REPEAT_SECONDS:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def termination_held() -> Iterator[None]:
    """Let SIGTERM raise `Terminated` only at the end of the context: what runs within would log it as an error."""
    global _holds, _is_pending
    _holds += 1
    try:
        yield
    finally:
        _holds -= 1
    if _is_pending and not _holds:
        _is_pending = False
        raise Terminated


def _raise() -> None:
    global _is_pending
    if _holds:
        _is_pending = True
    else:
        raise Terminated


def restore_signal_handlers() -> None:
    """Restore Python's handler of SIGINT after Scrapy has run; from now on SIGTERM raises `Terminated`."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    raise_on_sigterm()


@contextmanager
def forwarding(processes: list[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Forward SIGINT and SIGTERM to the collectors, which then stop in good order, or hand over."""

    def forward(number: int) -> None:
        for process in processes:
            if process.poll() is None:
                process.send_signal(number)

    before = signal.signal(signal.SIGINT, lambda number, _: forward(number))
    note_sigterm(lambda: forward(signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
