"""Encryption of secrets in the database: notification addresses, settings, variables of sources, second factors.

A sealed value is the text ``sealed:KEY:TOKEN``, where KEY identifies the key and TOKEN is a Fernet token of the value's
JSON. The keys are in ``TARANTULA_SECRET_KEY``, or one a line in the file `Config.key_file`; the first one seals, all of
them unseal. A sealed value whose key is missing is loaded, shown masked and stored as it is: nothing is lost, and the
rest works.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from cryptography.fernet import Fernet, InvalidToken

from tarantula.core.errors import TarantulaError, UnusableError
from tarantula.core.messages import Message

SEAL = "sealed:"
MASK = "•••"
"""Shown in place of a secret."""

PUBLIC_SETTINGS = frozenset({"USER_AGENT"})
"""Settings with a text that is sent to every server: no secrets."""

MAX_REMEMBERED = 10_000
"""Values that a process remembers unsealed."""

Change = Callable[[Any], Any]


class MissingKey(UnusableError):
    """A secret cannot be read or stored without a key that is not here."""


def is_sealed(value: object) -> bool:
    """Whether a value is a sealed one, whose key may be missing."""
    return isinstance(value, str) and value.startswith(SEAL)


def check_readable(*values: object) -> None:
    """Raise `MissingKey` if a value that is to be used is still sealed."""
    for value in values:
        if is_sealed(value):
            raise MissingKey(
                "A secret is encrypted with the key {key}, which is not here. "
                "Copy the key file from the machine or the backup that has it; "
                "`tarantula secrets status` says where to.",
                key=str(value).split(":")[1][:16],
            )


def has_text(value: object) -> bool:
    """Whether a setting may be a secret: it has a text. Numbers, and keys such as import paths, are none."""
    if isinstance(value, dict):
        return any(map(has_text, value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_text, value))
    return isinstance(value, str) and bool(value)


def _is_secret(name: str, value: object) -> bool:
    return is_sealed(value) or (name not in PUBLIC_SETTINGS and has_text(value))


def change_secrets(configuration: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """Return a configuration, as of a publication or an alert, with *change* applied to each secret in it."""
    changed = dict(configuration)
    if changed.get("notify"):
        changed["notify"] = [change(address) for address in changed["notify"]]
    for name in ("settings", "variables", "headers"):
        if isinstance(values := changed.get(name), dict):
            changed[name] = {key: change(value) if _is_secret(key, value) else value for key, value in values.items()}
    for name in ("body", "totp_secret"):
        if changed.get(name):
            changed[name] = change(changed[name])
    if steps := changed.get("steps"):
        changed["steps"] = [
            {**step, "value": change(step["value"])} if isinstance(step, dict) and step.get("value") else step
            for step in steps
        ]
    return changed


def masked(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with its secrets masked; of an address the service remains."""
    return change_secrets(configuration, mask)


def restore_masked(fields: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return changed fields with the *stored* secrets in place of masked ones; what remains masked matches none."""
    restored, left = dict(fields), list(stored.get("notify") or ())

    def address(text: str) -> str:
        found = next((one for one in left if mask(one) == text.strip()), None)
        if found is None:
            return text
        left.remove(found)
        return str(found)

    if isinstance(notify := restored.get("notify"), str):
        notify = restored["notify"] = notify.split(";") if MASK in notify else notify
    if isinstance(notify, list):
        restored["notify"] = [address(one) if isinstance(one, str) else one for one in notify]
    for name in ("settings", "variables"):
        if isinstance(values := restored.get(name), dict):
            before = stored.get(name) or {}
            restored[name] = {
                key: before[key] if is_masked(value) and key in before and mask(before[key]) == value else value
                for key, value in values.items()
            }
    return restored


def is_masked(value: object) -> bool:
    """Whether a value is what is shown in place of a secret."""
    return isinstance(value, str) and (value == MASK or value.endswith(f"://{MASK}"))


def check_unmasked(name: str, value: object) -> None:
    """Raise `ValueError` for a masked value that stands for no stored secret."""
    if is_masked(value):
        raise ValueError(
            Message("The value of {name} is masked. Write the value itself, or leave the field out.", name=name)
        )


def mask(value: object) -> str:
    """Return what is shown in place of a secret."""
    service, separator, _ = value.partition("://") if isinstance(value, str) else ("", "", "")
    return f"{service}://{MASK}" if separator and service.isalnum() else MASK


class KeySettings(Protocol):
    """Settings of an installation: `tarantula.core.config.Config`."""

    secret_key: str

    @property
    def key_file(self) -> Path: ...

    def make_home(self) -> object: ...


class Keyring:
    """The keys of an installation, read when first needed and again when an unknown one is met."""

    def __init__(self, installation: KeySettings) -> None:
        self.path = installation.key_file
        self._given = installation.secret_key
        self._make_home = installation.make_home
        self._keys: dict[str, Fernet] = {}
        self._unsealed: dict[str, bytes] = {}
        """JSON of values that were unsealed: rows of sources are loaded again and again."""

    @property
    def source(self) -> str:
        """Where the keys come from, for people."""
        return "TARANTULA_SECRET_KEY" if self._given else str(self.path)

    def load(self) -> dict[str, Fernet]:
        """Read the keys by their ids, the first of which seals; empty if there are none."""
        words = self._given.replace(";", " ").split() if self._given else self._lines()
        try:
            self._keys = {key_id(word): Fernet(_urlsafe(word)) for word in words}
        except ValueError as error:
            raise MissingKey(
                "{source} does not have a valid key: 32 bytes in base64, as `openssl rand -base64 32` makes them.",
                source=self.source,
            ) from error
        return self._keys

    def seal(self, value: Any) -> Any:
        """Return the sealed form of a value; of a sealed one itself."""
        if is_sealed(value):
            return value
        keys = self._keys or self.load()
        if not keys:
            raise MissingKey(
                "There is no key for secrets. Copy the key from the machine or the backup that has it to {path}, "
                "or set TARANTULA_SECRET_KEY.",
                path=self.path,
            )
        first, fernet = next(iter(keys.items()))
        return f"{SEAL}{first}:{fernet.encrypt(json.dumps(value).encode()).decode()}"

    def unseal(self, value: Any) -> Any:
        """Return the value of a sealed one; the sealed one itself if its key is not here or it is damaged."""
        if not is_sealed(value):
            return value
        _, _, rest = value.partition(SEAL)
        name, _, token = rest.partition(":")
        clear = self._unsealed.get(value)
        if clear is None:
            try:
                keys = self._keys if name in self._keys else self.load()
                clear = keys[name].decrypt(token.encode())
            except (KeyError, InvalidToken, MissingKey):
                return value
            if len(self._unsealed) >= MAX_REMEMBERED:
                self._unsealed.clear()
            self._unsealed[value] = clear
        return json.loads(clear)

    def add_key(self) -> str:
        """Write a new key before the others of the file, with permissions 0600; return its id."""
        if self._given:
            raise TarantulaError(
                "The keys are in TARANTULA_SECRET_KEY. Write a new one before them, separated by a semicolon."
            )
        word = Fernet.generate_key().decode()
        self._write([word, *self._lines()])
        return key_id(word)

    def keep_first(self) -> None:
        """Remove all keys but the first from the file."""
        self._write(self._lines()[:1])

    def _lines(self) -> list[str]:
        try:
            return self.path.read_text(encoding="ascii").split()
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise MissingKey(
                "The key file {path} cannot be read ({error}). Correct its permissions, or restore it.",
                path=self.path,
                error=getattr(error, "strerror", None) or "it is not text",
            ) from error

    def _write(self, words: list[str]) -> None:
        self._make_home()
        draft = self.path.with_name(f".{self.path.name}-{uuid4()}")
        try:
            with open(draft, "x", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.writelines(f"{word}\n" for word in words)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise MissingKey(
                "The key file {path} cannot be written ({error}). Create its directory, correct its permissions, "
                "or name another with TARANTULA_SECRET_KEY_FILE.",
                path=self.path,
                error=error.strerror,
            ) from error
        self.load()


def key_id(word: str) -> str:
    """Return the id of a key: a digest, from which the key cannot be derived."""
    return sha256(b"tarantula key " + _urlsafe(word)).hexdigest()[:12]


def _urlsafe(word: str) -> bytes:
    return word.translate(str.maketrans("+/", "-_")).encode()


def secrets_in(configuration: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the secrets of a configuration."""
    found = list[Any]()
    change_secrets(configuration, found.append)
    yield from found
