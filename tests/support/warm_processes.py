"""Processes that start fast: they are forked from one that has imported the modules of the program.

Arguments, environment, folder, pipes, signals and exit code are those of a normal start. A test run starts hundreds of
processes; most of their time is spent importing the same modules, and freeing them at exit, which these leave to the
operating system. With ``COLD_STARTS`` in the environment each process starts and ends normally.
"""

from __future__ import annotations

import atexit
import gc
import os
import pickle
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple, cast

ROOT = Path(__file__).parents[2]
MAX_MESSAGE_BYTES = 1 << 20
"""Maximum size of a start request."""
LINE_BUFFERED = 1
COLLECTING = (
    "scrapy.cmdline",
    "scrapy.commands.crawl",
    "scrapy.crawler",
    "tarantula.cli.nouns",
    "tarantula.commands.crawl",
    "tarantula.engine.downloader",
    "tarantula.engine.scheduler",
    "tarantula.extensions",
    "tarantula.middlewares",
    "tarantula.pipelines",
    "tarantula.spiders.publication",
    "tarantula.spiders.streams",
)
SERVING = ("tarantula.cli.web", "tarantula.web.app")
SEARCHING = ("tarantula.cli.barrel", "tarantula.search.barrels.barrel", "tarantula.search.barrels.gateway")
MODULES_BY_NOUN = {"web": SERVING, "serve": SERVING, "barrel": SEARCHING, "gateway": SEARCHING}
"""Modules that are imported in addition, when one of these nouns is started."""


class Start(NamedTuple):
    """Request to start a process."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]


class WarmProcess(subprocess.Popen[str]):
    """A process that the warm parent forked; a pipe delivers its exit status."""

    _status_pipe: int

    def _execute_child(self, args: Sequence[str], *rest: Any) -> None:
        cwd, env = rest[4], rest[5]
        into, _, _, out, _, err = rest[9:15]
        self._status_pipe, telling = os.pipe()
        asking = _warm_parent()
        nothing = os.open(os.devnull, os.O_RDONLY)
        files = [nothing if into == -1 else into, out, err, telling]
        socket.send_fds(asking, [pickle.dumps(Start(list(args), str(cwd), dict(env)))], files)
        for file in {nothing, *files}:
            os.close(file)
        self.pid = int(asking.recv(32))
        self._child_created = True

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None:
            ended, status = self._try_wait(os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self.returncode

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._status_pipe, selectors.EVENT_READ)
            if not selector.select(0 if wait_flags & os.WNOHANG else None):
                return 0, 0
        status = int(os.read(self._status_pipe, 32))
        os.close(self._status_pipe)
        return self.pid, status


def is_warm(command: Sequence[str]) -> bool:
    """Return whether a command can be forked from the warm parent."""
    return Path(command[0]).name in ENTRIES and "COLD_STARTS" not in os.environ


@cache
def _warm_parent() -> socket.socket:
    """Start the process from which others are forked; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_MESSAGE_BYTES)
    with theirs:
        parent = subprocess.Popen(
            [sys.executable, "-m", "tests.support.warm_processes", str(theirs.fileno())],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    atexit.register(parent.wait)
    atexit.register(ours.close)
    return ours


def _scrapy() -> None:
    from scrapy.cmdline import execute

    execute()


def _tarantula() -> None:
    from tarantula.cli import main

    main()


ENTRIES: dict[str, Callable[[], None]] = {"scrapy": _scrapy, "tarantula": _tarantula}


def _fork_for_ever(asked: socket.socket) -> Callable[[], None]:
    """Fork a process for each request; returns only in the forked processes."""
    _read_modules(COLLECTING)
    # The intermediate processes only wait for others; the kernel may reap them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        told, files, *_ = socket.recv_fds(asked, MAX_MESSAGE_BYTES, 4)
        if not told:
            sys.exit()
        start: Start = pickle.loads(told)
        for noun in start.arguments[1:2]:
            _read_modules(MODULES_BY_NOUN.get(noun, ()))
        if os.fork() == 0:
            return _fork_and_wait(start, files, asked)
        for file in files:
            os.close(file)


def _fork_and_wait(start: Start, files: list[int], asked: socket.socket) -> Callable[[], None]:
    """Fork a process, wait for its end, and write its exit status to the pipe."""
    *standard, telling = files
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process = os.fork()
    if process == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.close(telling)
        asked.close()
        return _become(start, standard)
    for file in standard:
        os.close(file)
    asked.send(str(process).encode())
    asked.close()
    os.write(telling, str(os.waitpid(process, 0)[1]).encode())
    os._exit(0)


def _become(start: Start, standard: list[int]) -> Callable[[], None]:
    """Turn this process into the requested one; return its entry point."""
    for number, file in enumerate(standard):
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = _stream(0, "r"), _stream(1, "w"), _stream(2, "w", LINE_BUFFERED)
    os.chdir(start.folder)
    os.environ.clear()
    os.environ.update(start.environment)
    sys.argv = start.arguments
    return ENTRIES[Path(start.arguments[0]).name]


def _stream(number: int, mode: str, buffering: int = -1) -> TextIOWrapper:
    return cast(TextIOWrapper, open(number, mode, buffering, encoding="utf-8", closefd=False))


def _read_modules(names: Sequence[str]) -> None:
    for name in names:
        import_module(name)
    own = {"tarantula.settings", "twisted.internet.reactor"} & sys.modules.keys()
    if own:
        raise RuntimeError(f"{' and '.join(own)} must not be imported before the fork: they depend on the environment.")
    # Garbage collection writes to every object it visits, which would copy the pages that forked processes share.
    gc.freeze()


def _exit_code(entry: Callable[[], None]) -> int:
    """Call the entry point; return the exit code that Python would use."""
    try:
        entry()
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return (left.code or 0) & 0xFF
        print(left.code, file=sys.stderr)
        return 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(code: int) -> None:
    """Run the exit handlers and exit, without freeing objects one by one."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    _end(_exit_code(_fork_for_ever(socket.socket(fileno=int(sys.argv[1])))))
