"""Messages for people: English sentences that keep template and parameters, and suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Self


class Message(str):
    """An English sentence that keeps its template and parameters, so that it can be shown in another language.

    ``Message("There is no {kind} {name!r}.", kind=kind, name=name)``. Without parameters the template is the text as
    it is. A parameter that is itself a message, or an error with one, is translated too; other texts are not.
    `str` of a message is the message, so that ``str(error)`` keeps it too; joining and f-strings do not.
    """

    __slots__ = ("parameters", "template")

    template: str
    parameters: Mapping[str, Any]

    def __new__(cls, template: str, /, **parameters: object) -> Self:
        if isinstance(template, cls) and not parameters:
            return template
        values = {name: str(value) if isinstance(value, BaseException) else value for name, value in parameters.items()}
        message = super().__new__(cls, _fill_in(template, values))
        message.template, message.parameters = template, values
        return message

    def render(self, translate: Callable[[str], str]) -> str:
        """Return the text in another language; *translate* is called with the English templates."""
        values = self.parameters.items()
        return _fill_in(
            translate(self.template),
            {name: value.render(translate) if isinstance(value, Message) else value for name, value in values},
        )

    def lines(self) -> list[str]:
        """Return the lines of a message, as messages."""
        return [Message(line, **self.parameters) for line in self.template.split("\n")]

    def __str__(self) -> str:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_message, (self.template, self.parameters)


def join_messages(messages: Iterable[str], separator: str = "\n") -> Message:
    """Return messages as one, by default one per line; each is translated for itself."""
    parts = {f"part{number}": message for number, message in enumerate(messages)}
    return Message(separator.join(f"{{{name}}}" for name in parts), **parts)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a suggestion such as `` Did you mean fcul?``, or an empty string if no known name is similar."""
    near = get_close_matches(name, known, n=3)
    return Message(" Did you mean {names}?", names=" or ".join(near)) if near else ""


def _fill_in(template: str, values: Mapping[str, object]) -> str:
    return template.format_map(values) if values else template


def _restore_message(template: str, parameters: Mapping[str, Any]) -> Message:
    return Message(template, **parameters)
