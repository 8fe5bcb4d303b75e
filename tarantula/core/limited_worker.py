"""Run parsers of untrusted bytes in worker processes with limits on time, memory and output, and without network.

`run_limited` calls a function of `FUNCTIONS` with a JSON object and bytes, and returns its JSON answer. Workers are
started when they are needed, serve one function each, and are replaced after an error of the limits. What a worker
sends is only ever decoded as JSON.
"""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import json
import os
import resource
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib import import_module
from queue import Empty, SimpleQueue
from struct import Struct
from threading import BoundedSemaphore, Lock
from typing import Any

from tarantula.core.deadlines import TimeBudgetError, current_budget
from tarantula.core.errors import TarantulaError
from tarantula.core.reasons import Reason

FUNCTIONS = {
    "text": "tarantula.search.texts.content.extract_data",
    "streams": "tarantula.streams.limited.answer",
    "toml": "tarantula.publications.config.parse_limited",
    "probe": "tarantula.core.limited_worker.probe",
}
"""Import paths of the functions that workers run: from a JSON object and bytes to what JSON can hold."""
SECONDS_SETTING = "TARANTULA_PARSER_SECONDS"
MEMORY_SETTING = "TARANTULA_PARSER_MEMORY"
DEFAULT_SECONDS = 30.0
"""Time limit of one call."""
DEFAULT_MEGABYTES = 512
"""Memory that a worker may use beyond what it has after it has started."""
MAX_OUTPUT_BYTES = 64_000_000
MAX_WORKERS = 4
"""Maximum number of workers of one function."""
MAX_CALLS = 1_000
"""Calls after which a worker is replaced."""
START_SECONDS = 30.0
MAX_OPEN_FILES = 64
_HEAD = Struct("<QQ")
_LENGTH = Struct("<Q")
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_NO_NEW_PRIVS = 38
_output = 1
"""Descriptor that a worker sends its answers to."""
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", SECONDS_SETTING, MEMORY_SETTING)
_PYTHON_VARIABLES = {"PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
_REFUSED_EVENTS = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "os.kill")


class ParserLimitError(TarantulaError):
    """A parser exceeded its limits or died; `reason` is what is recorded."""

    def __init__(self, reason: Reason) -> None:
        sentence = reason.sentence()
        super().__init__(sentence.template, **sentence.parameters)
        self.reason = reason


class ParserFailedError(Exception):
    """The function raised an error, whose type and text these are."""


def run_limited(name: str, data: dict[str, Any], body: bytes = b"", *, seconds: float | None = None) -> Any:
    """Call a function of `FUNCTIONS` in a worker; raise `ParserLimitError` if it exceeds its limits or dies.

    It blocks the calling thread, not the interpreter. An error that the function raises is a `ParserFailedError`.
    """
    return _pool(name).call(json.dumps(data).encode(), body, min(seconds or limit_seconds(), limit_seconds()))


async def in_parser_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that may wait for a worker, in a thread that nothing else needs."""
    return await asyncio.get_running_loop().run_in_executor(_threads(), function, *arguments)


@lru_cache(maxsize=1)
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2 * MAX_WORKERS, thread_name_prefix="parser")


def is_worker() -> bool:
    """Whether this process is a worker, in which everything is limited already."""
    return _is_worker


def limit_seconds() -> float:
    """Return the time limit of a call."""
    return _positive(SECONDS_SETTING, DEFAULT_SECONDS)


def limit_megabytes() -> float:
    """Return the memory limit of a worker."""
    return _positive(MEMORY_SETTING, DEFAULT_MEGABYTES)


def _positive(setting: str, default: float) -> float:
    text = os.environ.get(setting, "").strip()
    try:
        number = float(text) if text else default
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise TarantulaError("{setting} is not a positive number: {text!r}.", setting=setting, text=text[:80])
    return number


class _Died(Exception):
    """The worker ended during a call."""


class _Worker:
    """One process and its two pipes."""

    def __init__(self, name: str) -> None:
        environment = {key: os.environ[key] for key in _KEPT_VARIABLES if key in os.environ}
        # Threads of numerical libraries would reserve address space.
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
        path = os.pathsep.join(one for one in sys.path if one)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tarantula.core.limited_worker", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environment, **threads, "PYTHONPATH": path, **_PYTHON_VARIABLES},
            start_new_session=True,
        )
        self.calls = 0
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input, self._output = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self._input, False)
        os.set_blocking(self._output, False)

    def start(self) -> None:
        """Wait until the worker has imported its function."""
        self._read(_LENGTH.size, time.monotonic() + START_SECONDS)

    def call(self, data: bytes, body: bytes, seconds: float) -> bytes:
        """Return the answer; raise `TimeoutError`, `_Died` or `OverflowError`."""
        self.calls += 1
        deadline = time.monotonic() + seconds
        for part in (_HEAD.pack(len(data), len(body)), data, body):
            self._write(part, deadline)
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size, deadline))
        if length > MAX_OUTPUT_BYTES:
            raise OverflowError
        return self._read(length, deadline)

    def kill(self, died: bool = False) -> None:
        """End the process; one that *died* gets the time to leave its exit code."""
        with suppress(subprocess.TimeoutExpired):
            if died:
                self.process.wait(1.0)
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        self.process.wait()

    def _write(self, part: bytes, deadline: float) -> None:
        rest = memoryview(part)
        while rest:
            _wait(self._input, select.POLLOUT, deadline)
            try:
                rest = rest[os.write(self._input, rest) :]
            except BlockingIOError:
                continue
            except BrokenPipeError as error:
                raise _Died from error

    def _read(self, length: int, deadline: float) -> bytes:
        parts, missing = [], length
        while missing:
            _wait(self._output, select.POLLIN, deadline)
            try:
                part = os.read(self._output, min(missing, 1 << 20))
            except BlockingIOError:
                continue
            if not part:
                raise _Died
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)


def _wait(descriptor: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    left = deadline - time.monotonic()
    if left <= 0 or not poll.poll(left * 1000):
        raise TimeoutError


class _Pool:
    """Workers of one function."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._slots = BoundedSemaphore(MAX_WORKERS)
        self._idle: SimpleQueue[_Worker] = SimpleQueue()

    def call(self, data: bytes, body: bytes, seconds: float) -> Any:
        with self._slot():
            worker = self._take()
            try:
                answer = worker.call(data, body, seconds)
                result = json.loads(answer)
                ok, value = result["ok"], result["value"]
            except BaseException as error:
                worker.kill(isinstance(error, _Died))
                reason = self._reason(error, worker, seconds)
                if reason is None:
                    raise
                raise ParserLimitError(reason) from error
            if ok == "memory" or worker.calls >= MAX_CALLS:
                worker.kill()
            else:
                self._idle.put(worker)
        if ok == "memory":
            raise ParserLimitError(Reason.of("parser_memory", limit=round(limit_megabytes())))
        if not ok:
            raise ParserFailedError(str(value)[:500])
        return value

    @contextmanager
    def _slot(self) -> Iterator[None]:
        """Wait for a worker to be free, within the time budget of the request."""
        budget = current_budget()
        if not self._slots.acquire(timeout=None if budget is None else budget.left):
            raise TimeBudgetError(budget.seconds if budget is not None else 0)
        try:
            yield
        finally:
            self._slots.release()

    def _take(self) -> _Worker:
        with suppress(Empty):
            while True:
                worker = self._idle.get_nowait()
                if worker.process.poll() is None:
                    return worker
                worker.kill()
        worker = _Worker(self._name)
        try:
            worker.start()
        except (TimeoutError, _Died) as error:
            worker.kill()
            raise TarantulaError(
                "A worker process for {name} could not be started. Check the free memory, and set {setting} higher.",
                name=self._name,
                setting=MEMORY_SETTING,
            ) from error
        return worker

    def _reason(self, error: BaseException, worker: _Worker, seconds: float) -> Reason | None:
        match error:
            case TimeoutError():
                return Reason.of("parser_time", seconds=seconds)
            case OverflowError():
                return Reason.of("parser_output", limit=MAX_OUTPUT_BYTES)
            case _Died():
                return Reason.of("parser_died", exit_code=worker.process.returncode, limit=round(limit_megabytes()))
            case ValueError() | LookupError() | TypeError() | RecursionError():
                # Its answer was not JSON, or had another form.
                return Reason.of("parser_died", exit_code=0, limit=round(limit_megabytes()))
        return None

    def close(self) -> None:
        """End the idle workers."""
        with suppress(Empty):
            while True:
                self._idle.get_nowait().kill()


_is_worker = False
_pools: dict[str, _Pool] = {}
_lock = Lock()


def _pool(name: str) -> _Pool:
    with _lock:
        if name not in _pools:
            if name not in FUNCTIONS:
                raise KeyError(name)
            _pools[name] = _Pool(name)
        return _pools[name]


def close_workers() -> None:
    """End the workers that are idle; the next call starts others."""
    for pool in list(_pools.values()):
        pool.close()


def _forget_workers() -> None:
    """Leave the workers to the parent after a fork."""
    global _lock
    _lock = Lock()
    _pools.clear()
    _threads.cache_clear()


atexit.register(close_workers)
os.register_at_fork(after_in_child=_forget_workers)


def probe(data: dict[str, Any], body: bytes) -> Any:
    """Do one thing that the limits forbid; for the tests."""
    match data.get("do"):
        case "connect":
            import socket

            socket.create_connection((data["host"], data["port"]), timeout=2).close()
        case "connect below":
            # As native code would, which no audit hook sees.
            libc = ctypes.CDLL(None, use_errno=True)
            handle = libc.socket(2, 1, 0)
            address = Struct("<H").pack(2) + data["port"].to_bytes(2) + bytes(map(int, data["host"].split(".")))
            return {"connected": libc.connect(handle, address + bytes(8), 16) == 0}
        case "allocate":
            return {"length": len(bytearray(data["bytes"]))}
        case "loop":
            while True:
                pass
        case "output":
            _send_bytes(_LENGTH.pack(1 << 40))
            while True:
                _send_bytes(bytes(1 << 20))
        case "write":
            with open(data["path"], "w") as file:
                file.write("x")
        case "kill":
            # os.kill is refused by the audit hook.
            ctypes.CDLL(None)["raise"](9)
        case "print":
            print("not an answer", flush=True)
        case "state":
            with open("/proc/self/net/dev") as file:
                links = [line.partition(":")[0].strip() for line in file if ":" in line]
            return {"pid": os.getpid(), "environment": dict(os.environ), "links": links}
    return {"length": len(body)}


def _limit_process() -> None:
    """Apply the limits that hold for the life of this process, after its imports."""
    with open("/proc/self/statm") as file:
        in_use = int(file.read().split()[0]) * resource.getpagesize()
    memory = in_use + int(limit_megabytes() * 1_000_000)
    for limit, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
    ):
        resource.setrlimit(limit, (value, value))
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith(_REFUSED_EVENTS):
        raise PermissionError(f"A parser may not use {event}.")
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        raise PermissionError("A parser may not write files.")


def _leave_network() -> None:
    """Move to an empty network namespace, where the system permits it to this user."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) != 0:
        libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _serve(name: str) -> None:
    """Answer calls from standard input until it ends."""
    global _is_worker, _output
    _is_worker = True
    # Output of a parser is not an answer.
    _output = os.dup(1)
    os.dup2(2, 1)
    _leave_network()
    module, _, attribute = FUNCTIONS[name].rpartition(".")
    function: Callable[[dict[str, Any], bytes], Any] = getattr(import_module(module), attribute)
    # Packages that are loaded later would count as memory of the document, and may need files that the limits forbid.
    getattr(import_module(module), "prepare_worker", lambda: None)()
    _limit_process()
    _send_bytes(_LENGTH.pack(0))
    while head := _receive(_HEAD.size):
        lengths = _HEAD.unpack(head)
        data, body = (_receive(length) for length in lengths)
        used = resource.getrusage(resource.RUSAGE_SELF)
        # The parent kills this process at the deadline; the kernel does if there is no parent any more.
        cpu = int(used.ru_utime + used.ru_stime + limit_seconds()) + 2
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        answer = _answer(function, data, body)
        _send_bytes(_LENGTH.pack(len(answer)))
        _send_bytes(answer)


def _answer(function: Callable[[dict[str, Any], bytes], Any], data: bytes, body: bytes) -> bytes:
    try:
        return json.dumps({"ok": True, "value": function(json.loads(data), body)}).encode()
    except MemoryError:
        return b'{"ok": "memory", "value": ""}'
    except Exception as error:
        return json.dumps({"ok": False, "value": f"{type(error).__name__}: {str(error)[:300]}"}).encode()


def _receive(length: int) -> bytes:
    parts = []
    while length and (part := os.read(0, min(length, 1 << 20))):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _send_bytes(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(_output, rest) :]


if __name__ == "__main__":
    # The module that the functions import, not a second one.
    from tarantula.core import limited_worker

    limited_worker._serve(sys.argv[1])
