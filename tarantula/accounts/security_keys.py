"""Security keys and passkeys (WebAuthn): their registration, and logins with them."""

from __future__ import annotations

import json
import secrets
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session
from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.authentication.verify_authentication_response import VerifiedAuthentication
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from tarantula.accounts.factors import ISSUER, FactorRefused, changed_row
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.models import Account, SecurityKey

MAX_KEYS = 20
"""Keys of an account."""
MAX_NAME_LENGTH = 100
MAX_RESPONSE_LENGTH = 65_536
"""Characters of what a browser sends for a key."""
CHALLENGE_BYTES = 32
DIALOG_MILLISECONDS = 120_000
"""Time that the browser gives the user."""


class Site(NamedTuple):
    """Where browsers reach the pages."""

    rp_id: str
    """Host name to which keys are bound."""
    origin: str
    """Scheme, host and port of the pages."""


def new_challenge() -> str:
    """Return a challenge in base64url."""
    return bytes_to_base64url(secrets.token_bytes(CHALLENGE_BYTES))


def user_handle(account: Account) -> bytes:
    """Return the name of an account on authenticators: no part of it says who the user is."""
    return sha256(f"user handle {account.id} {account.created_at.isoformat()}".encode()).digest()


def keys_of(session: Session, account_id: int) -> list[SecurityKey]:
    """Return the keys of an account, oldest first."""
    chosen = select(SecurityKey).where(SecurityKey.account_id == account_id)
    return list(session.scalars(chosen.order_by(SecurityKey.id)))


def get_key(session: Session, account: Account, number: int) -> SecurityKey:
    """Return a key of an account; raise an error if there is none."""
    key = session.get(SecurityKey, number)
    if key is None or key.account_id != account.id:
        raise NotFoundError("This security key was removed already.")
    return key


def check_name(name: str) -> str:
    """Return the name for a key; raise an error if it cannot be used."""
    if not name.strip() or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise TarantulaError("Name the key, in 1 to {limit} characters.", limit=MAX_NAME_LENGTH)
    return name.strip()


def registration_options(session: Session, account: Account, site: Site, challenge: str) -> str:
    """Return the options for ``navigator.credentials.create()`` as JSON."""
    keys = keys_of(session, account.id)
    if len(keys) >= MAX_KEYS:
        raise ConflictError("An account has at most {limit} security keys. Remove one first.", limit=MAX_KEYS)
    own = [key for key in keys if key.rp_id == site.rp_id]
    options = generate_registration_options(
        rp_id=site.rp_id,
        rp_name=ISSUER,
        user_name=account.name,
        user_id=user_handle(account),
        challenge=base64url_to_bytes(challenge),
        timeout=DIALOG_MILLISECONDS,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.PREFERRED, user_verification=UserVerificationRequirement.PREFERRED
        ),
        exclude_credentials=_descriptors(own),
    )
    return options_to_json(options)


def register(session: Session, account: Account, site: Site, challenge: str, name: str, response: str) -> None:
    """Store the key that a browser created for a challenge."""
    try:
        verified = verify_registration_response(
            credential=_parsed(response),
            expected_challenge=base64url_to_bytes(challenge),
            expected_rp_id=site.rp_id,
            expected_origin=site.origin,
        )
        credential_id = bytes_to_base64url(verified.credential_id)
    # The response has bytes of a stranger's device, in nested formats whose parsers raise errors of many kinds.
    except Exception as error:
        raise FactorRefused(factor="key", reason=_reason(error)) from error
    if session.scalar(select(SecurityKey.id).where(SecurityKey.credential_id == credential_id)) is not None:
        raise ConflictError("This security key is registered already.")
    session.add(
        SecurityKey(
            account_id=account.id,
            name=check_name(name),
            rp_id=site.rp_id,
            credential_id=credential_id,
            public_key=bytes_to_base64url(verified.credential_public_key),
            sign_count=verified.sign_count,
            created_at=datetime.now(UTC),
        )
    )
    session.flush()


def login_options(session: Session, account_id: int | None, site: Site, challenge: str) -> str | None:
    """Return the options for ``navigator.credentials.get()`` as JSON; ``None`` if the account has no key for the site.

    Without an account the browser offers its passkeys, and checks that its user is present (PIN, fingerprint).
    """
    keys = [key for key in keys_of(session, account_id) if key.rp_id == site.rp_id] if account_id is not None else []
    if account_id is not None and not keys:
        return None
    required, preferred = UserVerificationRequirement.REQUIRED, UserVerificationRequirement.PREFERRED
    options = generate_authentication_options(
        rp_id=site.rp_id,
        challenge=base64url_to_bytes(challenge),
        timeout=DIALOG_MILLISECONDS,
        allow_credentials=_descriptors(keys),
        user_verification=required if account_id is None else preferred,
    )
    return options_to_json(options)


def use_key(session: Session, account_id: int | None, site: Site, challenge: str | None, response: str) -> SecurityKey:
    """Accept the response of a key to a challenge, and return the key; raise `FactorRefused` if it is wrong.

    Without an account the key stands for the password too: it must have verified its user.
    """
    if challenge is None:
        raise FactorRefused(factor="key", reason="The challenge was used before.")
    try:
        key, verified = _verified(session, account_id, site, challenge, response)
    except FactorRefused:
        raise
    except Exception as error:  # As in `register`.
        raise FactorRefused(factor="key", reason=_reason(error)) from error
    # The condition decides between two logins at the same time.
    unchanged = update(SecurityKey).where(SecurityKey.id == key.id, SecurityKey.sign_count == key.sign_count)
    result = session.execute(unchanged.values(sign_count=verified.new_sign_count, used_at=datetime.now(UTC)))
    if not changed_row(result):
        raise FactorRefused(factor="key", reason="The key was used at the same time.")
    return key


def _verified(
    session: Session, account_id: int | None, site: Site, challenge: str, response: str
) -> tuple[SecurityKey, VerifiedAuthentication]:
    credential = _parsed(response)
    key = session.scalar(select(SecurityKey).where(SecurityKey.credential_id == str(credential["id"])))
    if key is None or (account_id is not None and key.account_id != account_id):
        raise FactorRefused(factor="key", reason="The key is not registered for this account.")
    owner, handle = session.get_one(Account, key.account_id), credential["response"].get("userHandle")
    if (handle or account_id is None) and base64url_to_bytes(str(handle)) != user_handle(owner):
        raise FactorRefused(factor="key", reason="The key belongs to another user.")
    verified = verify_authentication_response(
        credential=credential,
        expected_challenge=base64url_to_bytes(challenge),
        expected_rp_id=site.rp_id,
        expected_origin=site.origin,
        credential_public_key=base64url_to_bytes(key.public_key),
        credential_current_sign_count=key.sign_count,
        require_user_verification=account_id is None,
    )
    return key, verified


def _parsed(response: str) -> dict[str, dict[str, str]]:
    if len(response) > MAX_RESPONSE_LENGTH:
        raise ValueError(f"The response has {len(response)} characters.")
    parsed: dict[str, dict[str, str]] = json.loads(response)
    return parsed


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]


def _descriptors(keys: list[SecurityKey]) -> list[PublicKeyCredentialDescriptor]:
    return [PublicKeyCredentialDescriptor(id=base64url_to_bytes(key.credential_id)) for key in keys]
