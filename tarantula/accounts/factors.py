"""Second factors of accounts: codes of an authenticator app (RFC 6238) and recovery codes; which factors there are."""

from __future__ import annotations

import re
import secrets
from base64 import b32decode, b32encode
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from cryptography.hazmat.primitives.constant_time import bytes_eq
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from sqlalchemy import CursorResult, delete, func, select, update
from sqlalchemy.orm import Session

from tarantula.accounts.credentials import secret_digest
from tarantula.accounts.roles import Person, Role, parse_role
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.secrets import check_readable
from tarantula.models import Account, RecoveryCode, SecurityKey, TotpFactor

ISSUER = "Tarântula"
"""Name under which authenticator apps and keys list the account."""
TOTP_DIGITS = 6
TOTP_STEP_SECONDS = 30
TOTP_TOLERANCE_STEPS = 1
"""Steps by which the clock of the app may differ."""
TOTP_SECRET_BYTES = 20
"""RFC 4226, section 4: 160 bits are recommended."""
CONFIRMATION_TIME = timedelta(minutes=15)
"""Time between showing the secret of an app and its first code."""
RECOVERY_CODES = 10
RECOVERY_CODE_BYTES = 10
"""80 random bits: a fast hash is enough."""


class FactorRefused(TarantulaError):
    """A second factor that is wrong; the audit log records *factor* and *reason*."""

    def __init__(self, *, factor: str, reason: str = "") -> None:
        super().__init__(
            "The code is wrong, or was used before: each code works once. Enter the next one."
            if factor != "key"
            else "The security key was not accepted. Try again, or use another second factor."
        )
        self.factor = factor
        self.reason = reason


def required_roles(setting: str) -> frozenset[Role]:
    """Return the roles in TARANTULA_REQUIRE_SECOND_FACTOR, which need a second factor."""
    try:
        return frozenset(map(parse_role, re.findall(r"[^\s,;]+", setting)))
    except TarantulaError as error:
        raise TarantulaError("TARANTULA_REQUIRE_SECOND_FACTOR: {problem}", problem=error) from error


def kinds(session: Session) -> dict[int, list[str]]:
    """Return the kinds of second factors, ``totp`` and ``key``, by account."""
    found: dict[int, list[str]] = {}
    confirmed = select(TotpFactor.account_id).where(TotpFactor.confirmed_at.is_not(None))
    for kind, query in (("totp", confirmed), ("key", select(SecurityKey.account_id).distinct())):
        for account_id in session.scalars(query):
            found.setdefault(account_id, []).append(kind)
    return found


def exist(session: Session, account_id: int) -> bool:
    """Whether an account has a second factor."""
    key = select(SecurityKey.id).where(SecurityKey.account_id == account_id).limit(1)
    return active_totp(session, account_id) is not None or session.scalar(key) is not None


def restrict(session: Session, person: Person | None, roles: Collection[Role]) -> Person | None:
    """Return a person as one who must set up a second factor, if their role is among those that need one.

    An account without a password logs in at a provider, which sees to further factors.
    """
    if person is None or person.account_id is None or person.role not in roles:
        return person
    has_password = bool(session.get_one(Account, person.account_id).password)
    return person._replace(needs_factor=has_password and not exist(session, person.account_id))


def remove_all(session: Session, account: Account) -> None:
    """Remove all second factors and recovery codes of an account."""
    for table in (TotpFactor, SecurityKey, RecoveryCode):
        session.execute(delete(table).where(table.account_id == account.id))


def active_totp(session: Session, account_id: int) -> TotpFactor | None:
    """Return the app of an account, if its first code was entered."""
    return session.scalar(
        select(TotpFactor).where(TotpFactor.account_id == account_id, TotpFactor.confirmed_at.is_not(None))
    )


def begin_totp(session: Session, account: Account) -> str:
    """Store the secret of an app, in place of one that was not confirmed; return it in base32."""
    if active_totp(session, account.id) is not None:
        raise ConflictError("There is an authenticator app already. Remove it before you set up another one.")
    session.execute(delete(TotpFactor).where(TotpFactor.account_id == account.id))
    secret = b32encode(secrets.token_bytes(TOTP_SECRET_BYTES)).decode()
    row = TotpFactor(
        account_id=account.id, configuration={"totp_secret": secret}, created_at=datetime.now(UTC), last_step=0
    )
    session.add(row)
    session.flush()
    return secret


def confirm_totp(session: Session, account: Account, code: str) -> None:
    """Make the app active with its first code."""
    row = session.scalar(select(TotpFactor).where(TotpFactor.account_id == account.id))
    now = datetime.now(UTC)
    if row is None or row.confirmed_at is not None or row.created_at <= now - CONFIRMATION_TIME:
        raise ConflictError("There is no authenticator app to confirm. Set it up again.")
    _accept_code(session, row, code)
    row.confirmed_at = now


def use_totp(session: Session, account: Account, code: str) -> None:
    """Accept a code of the app, once; raise `FactorRefused` if it is wrong."""
    row = active_totp(session, account.id)
    if row is None:
        raise FactorRefused(factor="totp", reason="no app")
    _accept_code(session, row, code)


def totp(secret: str) -> TOTP:
    """Return the generator of the codes of a secret in base32."""
    return TOTP(b32decode(secret), TOTP_DIGITS, SHA1(), TOTP_STEP_SECONDS)


def _accept_code(session: Session, row: TotpFactor, code: str) -> None:
    secret = row.configuration["totp_secret"]
    check_readable(secret)
    generator, typed = totp(secret), "".join(code.split()).encode()
    present = int(datetime.now(UTC).timestamp()) // TOTP_STEP_SECONDS
    steps = range(present - TOTP_TOLERANCE_STEPS, present + TOTP_TOLERANCE_STEPS + 1)
    step = max((step for step in steps if bytes_eq(generator.generate(step * TOTP_STEP_SECONDS), typed)), default=None)
    if step is None:
        raise FactorRefused(factor="totp")
    # RFC 6238, section 5.2: a code is accepted once. The condition decides between two logins at the same time.
    accepted = update(TotpFactor).where(TotpFactor.id == row.id, TotpFactor.last_step < step)
    result = session.execute(accepted.values(last_step=step, used_at=datetime.now(UTC)))
    if not changed_row(result):
        raise FactorRefused(factor="totp", reason="used before")


def changed_row(result: object) -> bool:
    """Whether a statement changed a row."""
    assert isinstance(result, CursorResult)
    return result.rowcount == 1


def new_recovery_codes(session: Session, account: Account) -> list[str]:
    """Replace the recovery codes of an account; return the new ones, of which only hashes are stored."""
    session.execute(delete(RecoveryCode).where(RecoveryCode.account_id == account.id))
    codes = [b32encode(secrets.token_bytes(RECOVERY_CODE_BYTES)).decode().lower() for _ in range(RECOVERY_CODES)]
    session.add_all(RecoveryCode(digest=_code_digest(account.id, code), account_id=account.id) for code in codes)
    session.flush()
    return ["-".join(re.findall("....", code)) for code in codes]


def count_recovery_codes(session: Session, account: Account) -> int:
    """Return the number of recovery codes that are left."""
    chosen = select(func.count()).select_from(RecoveryCode).where(RecoveryCode.account_id == account.id)
    return session.scalar(chosen) or 0


def use_recovery_code(session: Session, account: Account, code: str) -> None:
    """Accept a recovery code, once; raise `FactorRefused` if it is wrong."""
    digest = _code_digest(account.id, re.sub(r"[\s-]", "", code.lower()))
    chosen = delete(RecoveryCode).where(RecoveryCode.digest == digest, RecoveryCode.account_id == account.id)
    if not changed_row(session.execute(chosen)):
        raise FactorRefused(factor="recovery code")


def _code_digest(account_id: int, code: str) -> str:
    return secret_digest(f"recovery code {account_id} {code}")


def forget_unneeded_codes(session: Session, account: Account) -> None:
    """Remove the recovery codes of an account that has no second factor any more."""
    if not exist(session, account.id):
        remove_all(session, account)
