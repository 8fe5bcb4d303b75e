r"""Output of foreign text: control characters reach neither a terminal nor a log, but are shown as ``\u001b``.

`protect_output` is called once by each entry point. It replaces standard output and standard error, and makes log
records whose messages are escaped. Within JSON, where such characters occur in strings only, these are JSON's escapes.
"""

from __future__ import annotations

import codecs
import io
import logging
import re
import sys
from collections.abc import Iterable
from typing import Any, BinaryIO, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
"""C0 without tab and newline, DEL, C1, separators of lines and paragraphs, bidirectional overrides and isolates, and
surrogates, which cannot be encoded."""
_UNSAFE = re.compile(f"[{_CONTROLS}]")
_UNSAFE_IN_LINE = re.compile(f"[\n{_CONTROLS}]")
_UNSAFE_BESIDE_COLOURS = re.compile(rf"\x1b(?!\[[0-9;]*m)|(?!\x1b)[{_CONTROLS}]")
_CONTINUATION = "\n    "
"""What separates the lines of one log entry: no text within it looks like the beginning of another."""


def escape_controls(text: str) -> str:
    """Return a text with escapes in place of all control characters but tab and newline."""
    return _UNSAFE.sub(_escape, text)


def escape_line(text: str) -> str:
    """Return a text as one line: with escapes in place of newlines too."""
    return _UNSAFE_IN_LINE.sub(_escape, text)


def escape_entry(text: str) -> str:
    """Return a text of several lines for a log: escaped, and all lines but the first indented."""
    return escape_controls(text.rstrip("\n")).replace("\n", _CONTINUATION)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


class SafeStream(io.TextIOBase):
    """A text stream that escapes control characters. Bytes written to its `buffer` are escaped on terminals only."""

    _unsafe = _UNSAFE

    def __init__(self, unescaped: TextIO) -> None:
        self.unescaped = unescaped

    def write(self, text: str) -> int:
        """Write a text; return its length."""
        self.unescaped.write(self._unsafe.sub(_escape, text))
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        self.unescaped.flush()

    def fileno(self) -> int:
        """Return the number of the file."""
        return self.unescaped.fileno()

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self.unescaped.isatty()

    def writable(self) -> bool:
        """Whether texts can be written: always."""
        return True

    @property
    def buffer(self) -> BinaryIO:
        """The stream for bytes."""
        return cast(BinaryIO, _TerminalBuffer(self)) if self.isatty() else self.unescaped.buffer

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream."""
        return self.unescaped.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """How characters are treated that cannot be encoded."""
        return self.unescaped.errors

    @property
    def rich_proxied_file(self) -> SafeStream:
        """The stream for consoles of Rich that are not ours, such as Typer's: it lets colours pass."""
        return _ColouredStream(self.unescaped)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unescaped, name)


class _ColouredStream(SafeStream):
    _unsafe = _UNSAFE_BESIDE_COLOURS


class _TerminalBuffer(io.BufferedIOBase):
    """Bytes for a terminal: written as escaped text."""

    def __init__(self, stream: SafeStream) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data: Any) -> int:
        text = self._decoder.decode(bytes(data))
        self._stream.write(text.replace("\r\n", "\n"))
        return len(data)

    def flush(self) -> None:
        self._stream.flush()


class SafeConsole(Console):
    """Rich's console for foreign text: escapes control characters, and interprets neither markup nor emoji codes.

    Only the styles and the movements of the cursor that Rich itself makes reach the terminal.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "highlight": False, "emoji": False} | options)

    @property
    def file(self) -> Any:
        """The stream that is written to, without escapes: they would apply to colours too."""
        file = super().file
        return getattr(file, "unescaped", file)

    @file.setter
    def file(self, new_file: Any) -> None:
        self._file = new_file

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as a text of the width that it has with escapes."""
        return super().render_str(escape_controls(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Return the segments of an object; those that are not Rich's own controls are escaped."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else escape_controls(text), style, control)


class SafeLogRecord(logging.LogRecord):
    """A log record whose message and traceback are escaped, so that no foreign text begins a line of a log.

    A message is one line, unless its template has several, or it comes without parameters from another program.
    """

    _traceback: str | None = None

    def getMessage(self) -> str:
        """Return the message."""
        text = super().getMessage()
        is_one_line = self.args and "\n" not in str(self.msg) and self.name != "twisted"
        return escape_line(text) if is_one_line else escape_entry(text)

    @property
    def exc_text(self) -> str | None:
        """The traceback."""
        return self._traceback

    @exc_text.setter
    def exc_text(self, text: str | None) -> None:
        self._traceback = text and escape_entry(f"{_CONTINUATION[1:]}{text}")


def protect_output() -> None:
    """Escape control characters in what this process prints and logs from now on."""
    logging.setLogRecordFactory(SafeLogRecord)
    if not isinstance(sys.stdout, SafeStream):
        sys.stdout = SafeStream(sys.stdout)
    if not isinstance(sys.stderr, SafeStream):
        sys.stderr = SafeStream(sys.stderr)
