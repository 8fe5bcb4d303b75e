"""Messages and errors with templates and parameters."""

from __future__ import annotations

import json
import pickle

import pytest

from tarantula.core.errors import NotFoundError, TarantulaError
from tarantula.core.messages import Message, did_you_mean, join_messages
from tarantula.core.reasons import MESSAGE, Reason, as_reason
from tarantula.lifecycle.suggested_urls import AlreadyCollected
from tarantula.streams.sources.request import redact_secrets

PORTUGUESE = {
    "There is no item {urn}.{hint}": "Não existe o item {urn}.{hint}",
    " Did you mean {names}?": " Queria dizer {names}?",
    "{size:,} bytes": "{size:,} octetos",
}


def translated(text: str) -> str:
    return Message(text).render(lambda template: PORTUGUESE.get(template, template))


def test_a_message_is_its_english_sentence_and_keeps_its_parts() -> None:
    message = Message("There is no item {urn}.{hint}", urn="a.1", hint=did_you_mean("a.1", ["a.12"]))
    assert message == "There is no item a.1. Did you mean a.12?"
    assert json.dumps([message]) == '["There is no item a.1. Did you mean a.12?"]'
    assert str(message) is message
    assert str(ValueError(message)) is message
    assert translated(message) == "Não existe o item a.1. Queria dizer a.12?"


def test_a_text_without_parameters_is_not_formatted() -> None:
    assert TarantulaError("Write {name} as it is.").args == ("Write {name} as it is.",)
    assert translated("{} and {x}") == "{} and {x}"


def test_lines_are_translated_one_by_one() -> None:
    parts = [Message("{size:,} bytes", size=1000 * number) for number in (1, 2)]
    joined = join_messages(parts)
    assert (joined, joined.lines()) == ("1,000 bytes\n2,000 bytes", parts)
    assert translated(joined) == "1,000 octetos\n2,000 octetos"
    assert [translated(line) for line in joined.lines()] == ["1,000 octetos", "2,000 octetos"]


@pytest.mark.parametrize(
    "error",
    [
        NotFoundError(
            "There is no item {urn}.{hint}", urn="a.1", hint="", fields={"urn": Message("{size:,} bytes", size=1)}
        ),
        AlreadyCollected("a.1", 7),
        TarantulaError("It failed: {error}", error=ValueError(Message("{size:,} bytes", size=5))),
    ],
    ids=["fields", "other arguments", "error within"],
)
def test_an_error_survives_pickling(error: TarantulaError) -> None:
    restored = pickle.loads(pickle.dumps(error))
    assert (type(restored), restored.args, restored.__dict__) == (type(error), error.args, error.__dict__)
    assert translated(str(restored)) == translated(str(error))


def test_a_message_is_stored_as_a_reason_and_comes_back_as_one() -> None:
    message = join_messages([Message("{size:,} bytes", size=1000), Message("Plain {braces}.")])
    stored = as_reason(message)
    assert stored.code == MESSAGE
    restored = Reason(stored.code, json.loads(stored.parameters_json() or "{}"))
    assert restored.sentence() == message == "1,000 bytes\nPlain {braces}."
    assert translated(restored.sentence()) == "1,000 octetos\nPlain {braces}."


def test_secrets_are_masked_in_all_parts_of_a_message() -> None:
    inner = Message("{size:,} bytes of {url}", size=5, url="http://a.example/?token=s3cret")
    masked = redact_secrets(Message("It failed: {error}", error=inner), {"token": "s3cret"})
    assert isinstance(masked, Message)
    assert masked == "It failed: 5 bytes of http://a.example/?token=•••"
    assert "s3cret" not in repr(as_reason(masked).as_data())
    assert redact_secrets(Message("{number}", number=12345), {"token": "12345"}) == "•••"
