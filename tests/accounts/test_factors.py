"""Second factors without a browser: codes of apps, recovery codes, throttling, and who needs them."""

from __future__ import annotations

from base64 import b32encode
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from sqlalchemy import select, update

from tarantula.accounts import accounts as stored
from tarantula.accounts import factors, sessions
from tarantula.accounts.credentials import secret_digest
from tarantula.accounts.factors import CONFIRMATION_TIME, RECOVERY_CODES, TOTP_STEP_SECONDS, FactorRefused
from tarantula.accounts.login import (
    ATTEMPT_LIFETIME,
    AttemptOver,
    SecondFactorNeeded,
    begin_attempt,
    code_proof,
    finish_log_in,
    log_in,
    recovery_proof,
    remember_device,
)
from tarantula.accounts.roles import Person, Role
from tarantula.accounts.throttle import FACTOR_LIMIT, PAIR_LIMIT, TooManyLogins
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.secrets import MissingKey, is_sealed
from tarantula.models import AuditEntry, FailedLogin, LoginAttempt, RecoveryCode, TotpFactor
from tarantula.services import accounts, secrets
from tarantula.services import factors as own_factors
from tarantula.services.context import ServiceContext
from tarantula.web.auth import Authenticator

PASSWORD = "correct horse battery"
HERE = "192.0.2.7"

pytestmark = pytest.mark.usefixtures("quick_passwords")


@pytest.fixture
def desk(database: Database, database_config: Config) -> ServiceContext:
    """The context of the command line, with an administrator and a curator."""
    made = ServiceContext(database_config, database, Person("root", Role.ADMINISTRATOR))
    accounts.add_account(made, "ana", Role.ADMINISTRATOR, PASSWORD)
    accounts.add_account(made, "rui", Role.CURATOR, PASSWORD)
    return made


def session_of(desk: ServiceContext, secret: str) -> ServiceContext:
    with desk.database.reading() as session:
        person = sessions.person_of(session, secret_digest(secret))
    assert person is not None
    return ServiceContext(desk.installation, desk.database, person)


def logged_in(desk: ServiceContext, name: str = "ana") -> ServiceContext:
    secret = log_in(desk.database, name, PASSWORD, HERE)
    assert secret is not None
    return session_of(desk, secret)


def code(secret: str, steps: int = 0) -> str:
    return factors.totp(secret).generate(datetime.now(UTC).timestamp() + steps * TOTP_STEP_SECONDS).decode()


def wrong_code(secret: str) -> str:
    near = {code(secret, steps) for steps in range(-2, 4)}
    return next(
        digits
        for digits in ("000000", "111111", "222222", "333333", "444444", "555555", "666666")
        if digits not in near
    )


def with_app(person: ServiceContext) -> tuple[str, list[str]]:
    """Set up an app; return its secret and the recovery codes, with the code of this step unused."""
    secret = own_factors.begin_totp(person, PASSWORD).secret
    codes = own_factors.confirm_totp(person, code(secret))
    forget_step(person.database)
    return secret, codes


def forget_step(database: Database) -> None:
    with database.session() as session:
        session.execute(update(TotpFactor).values(last_step=0))


def attempt(desk: ServiceContext, name: str = "ana", address: str = HERE, device: str | None = None) -> str:
    """Log in with the right password; return the secret of the login that waits."""
    with pytest.raises(SecondFactorNeeded) as needed:
        log_in(desk.database, name, PASSWORD, address, device)
    return needed.value.attempt


def details(desk: ServiceContext, action: str) -> list[dict[str, object]]:
    with desk.database.reading() as session:
        rows = session.scalars(select(AuditEntry).where(AuditEntry.action == action).order_by(AuditEntry.id))
        return [row.detail for row in rows]


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (59, "94287082"),
        (1111111109, "07081804"),
        (1111111111, "14050471"),
        (1234567890, "89005924"),
        (2000000000, "69279037"),
        (20000000000, "65353130"),
    ],
)
def test_codes_are_those_of_rfc_6238(time: int, expected: str) -> None:
    # Appendix B, for SHA-1; six digits are the last six of eight.
    secret = b32encode(b"12345678901234567890").decode()
    assert factors.totp(secret).generate(time).decode() == expected[-factors.TOTP_DIGITS :]


def test_an_app_is_asked_for_once_its_first_code_was_entered(desk: ServiceContext) -> None:
    ana = logged_in(desk)
    with pytest.raises(TarantulaError, match="not the current password"):
        own_factors.begin_totp(ana, "wrong wrong wrong")
    new = own_factors.begin_totp(ana, PASSWORD)
    assert new.uri.startswith("otpauth://totp/")
    assert f"secret={new.secret}" in new.uri
    with pytest.raises(FactorRefused):
        own_factors.confirm_totp(ana, wrong_code(new.secret))
    assert log_in(desk.database, "ana", PASSWORD, HERE) is not None
    elsewhere = logged_in(desk)
    codes = own_factors.confirm_totp(ana, f" {code(new.secret)[:3]} {code(new.secret)[3:]}")
    assert len(set(codes)) == RECOVERY_CODES
    with desk.database.reading() as session:
        assert ana.person.session is not None
        assert sessions.person_of(session, ana.person.session) is not None
        assert elsewhere.person.session is not None
        assert sessions.person_of(session, elsewhere.person.session) is None
    waiting = attempt(desk)
    # The code that confirmed the app is used, the next one is within the tolerance, the one after it is not.
    for refused in (code(new.secret), code(new.secret, 3), wrong_code(new.secret), "", "1", "é"):
        with pytest.raises(FactorRefused):
            finish_log_in(desk.database, waiting, code_proof(refused), HERE)
        forget_failures(desk.database)
    session_secret = finish_log_in(desk.database, waiting, code_proof(code(new.secret, 1)), HERE)
    assert session_of(desk, session_secret).person.name == "ana"
    with pytest.raises(AttemptOver):
        finish_log_in(desk.database, waiting, code_proof(code(new.secret, 1)), HERE)
    with pytest.raises(FactorRefused):
        finish_log_in(desk.database, attempt(desk), code_proof(code(new.secret, 1)), HERE)
    assert details(desk, "login")[-1] == {"address": HERE, "factor": "totp"}
    assert details(desk, "login.failed")[-1] == {"address": HERE, "factor": "totp", "reason": "used before"}
    assert details(desk, "factor.add") == [{"factor": "totp"}]


def forget_failures(database: Database) -> None:
    with database.session() as session:
        session.query(FailedLogin).delete()


def test_of_two_logins_with_one_code_one_begins(desk: ServiceContext) -> None:
    secret, codes = with_app(logged_in(desk))
    for proof in (code_proof(code(secret, 1)), recovery_proof(codes[0])):
        forget_failures(desk.database)
        waiting = [attempt(desk) for _ in range(4)]

        def log_in_with(one: str, proof: object = proof) -> bool:
            try:
                return bool(finish_log_in(desk.database, one, proof, HERE))  # type: ignore[arg-type]
            except FactorRefused:
                return False

        with ThreadPoolExecutor(4) as pool:
            assert sorted(pool.map(log_in_with, waiting)) == [False, False, False, True]


def test_an_app_is_confirmed_in_time_and_once(desk: ServiceContext) -> None:
    ana = logged_in(desk)
    secret = own_factors.begin_totp(ana, PASSWORD).secret
    with desk.database.session() as session:
        session.execute(update(TotpFactor).values(created_at=datetime.now(UTC) - CONFIRMATION_TIME))
    with pytest.raises(ConflictError, match="Set it up again"):
        own_factors.confirm_totp(ana, code(secret))
    with_app(ana)
    with pytest.raises(ConflictError, match="Remove it before"):
        own_factors.begin_totp(ana, PASSWORD)


def test_secrets_are_sealed_and_rotated_and_codes_are_hashed(desk: ServiceContext) -> None:
    secret, codes = with_app(logged_in(desk))
    with desk.database.reading() as session:
        raw = session.connection().exec_driver_sql("SELECT configuration FROM totp_factor").scalar_one()
        assert secret not in str(raw)
        assert "sealed:" in str(raw)
        digests = list(session.scalars(select(RecoveryCode.digest)))
    assert len(digests) == RECOVERY_CODES
    assert not any(part in digest for part in codes[0].split("-") for digest in digests if len(part) > 4)
    assert secrets.rotate(desk, drop_old=True) == 1
    assert finish_log_in(desk.database, attempt(desk), code_proof(code(secret, 1)), HERE)
    desk.database.keyring.path.write_text("")
    desk.database.keyring.load()
    desk.database.keyring._unsealed.clear()
    with desk.database.reading() as session:
        row = session.scalars(select(TotpFactor)).one()
        assert is_sealed(row.configuration["totp_secret"])
    with pytest.raises(MissingKey, match="tarantula secrets status"):
        finish_log_in(desk.database, attempt(desk), code_proof("123456"), HERE)
    assert finish_log_in(desk.database, attempt(desk), recovery_proof(codes[1]), HERE)


def test_a_recovery_code_replaces_the_second_factor_once(desk: ServiceContext) -> None:
    ana = logged_in(desk)
    _, codes = with_app(ana)
    _, others = with_app(logged_in(desk, "rui"))
    assert finish_log_in(desk.database, attempt(desk), recovery_proof(f" {codes[0].upper()} "), HERE)
    for refused in (codes[0], others[0], "", "aaaa-aaaa-aaaa-aaaa"):
        with pytest.raises(FactorRefused):
            finish_log_in(desk.database, attempt(desk), recovery_proof(refused), HERE)
    assert own_factors.overview(ana).recovery_codes == RECOVERY_CODES - 1
    assert details(desk, "login")[-1] == {"address": HERE, "factor": "recovery code"}
    forget_failures(desk.database)
    fresh = own_factors.new_recovery_codes(ana, PASSWORD)
    with pytest.raises(FactorRefused):
        finish_log_in(desk.database, attempt(desk), recovery_proof(codes[1]), HERE)
    assert finish_log_in(desk.database, attempt(desk), recovery_proof(fresh[1]), HERE)


def test_the_password_alone_does_not_permit_guessing(desk: ServiceContext) -> None:
    secret, _ = with_app(logged_in(desk))
    for _ in range(PAIR_LIMIT.free):
        with pytest.raises(FactorRefused):
            finish_log_in(desk.database, attempt(desk), code_proof(wrong_code(secret)), HERE)
    with pytest.raises(TooManyLogins):
        log_in(desk.database, "ana", PASSWORD, HERE)
    waiting = attempt(desk, address="198.51.100.1")
    assert finish_log_in(desk.database, waiting, code_proof(code(secret, 1)), "198.51.100.1")


def test_guesses_from_many_addresses_count_together_except_in_known_browsers(desk: ServiceContext) -> None:
    secret, codes = with_app(logged_in(desk))
    device = remember_device(
        desk.database, finish_log_in(desk.database, attempt(desk), recovery_proof(codes[0]), HERE), None
    )
    for number in range(FACTOR_LIMIT.free):
        address = f"198.51.100.{number}"
        with pytest.raises(FactorRefused):
            finish_log_in(desk.database, attempt(desk, address=address), code_proof(wrong_code(secret)), address)
    with pytest.raises(TooManyLogins):
        finish_log_in(desk.database, attempt(desk, address="203.0.113.9"), code_proof(code(secret, 1)), "203.0.113.9")
    waiting = attempt(desk, device=device)
    assert finish_log_in(desk.database, waiting, code_proof(code(secret, 1)), HERE, device)
    # It does not clear what others have guessed.
    with desk.database.reading() as session:
        row = session.get(FailedLogin, "second factor of 1")
        assert row is not None
        assert row.failures == FACTOR_LIMIT.free


def test_a_login_that_waits_ends(desk: ServiceContext) -> None:
    secret, _ = with_app(logged_in(desk))
    late, changed, removed = attempt(desk), attempt(desk), attempt(desk, "ana")
    with desk.database.session() as session:
        session.execute(
            update(LoginAttempt)
            .where(LoginAttempt.digest == secret_digest(late))
            .values(expires_at=LoginAttempt.expires_at)
        )
        row = session.get_one(LoginAttempt, secret_digest(late))
        row.expires_at -= ATTEMPT_LIFETIME + timedelta(seconds=1)
    with pytest.raises(AttemptOver):
        finish_log_in(desk.database, late, code_proof(code(secret, 1)), HERE)
    with desk.database.session() as session:
        stored.set_password(session, stored.get(session, "ana"), f"{PASSWORD} 2")
    for waiting in (changed, removed, "", "unknown"):
        with pytest.raises(AttemptOver):
            finish_log_in(desk.database, waiting, code_proof(code(secret, 1)), HERE)


def test_a_disabled_account_stays_out(desk: ServiceContext) -> None:
    secret, _ = with_app(logged_in(desk, "rui"))
    waiting = attempt(desk, "rui")
    with desk.database.session() as session:
        stored.get(session, "rui").disabled_at = datetime.now(UTC)
    with pytest.raises(FactorRefused):
        finish_log_in(desk.database, waiting, code_proof(code(secret, 1)), HERE)
    assert log_in(desk.database, "rui", PASSWORD, HERE) is None


def test_codes_do_not_finish_a_login_with_a_passkey(desk: ServiceContext) -> None:
    secret, codes = with_app(logged_in(desk))
    with desk.database.session() as session:
        waiting = begin_attempt(session, None)
    for proof in (code_proof(code(secret, 1)), recovery_proof(codes[0])):
        with pytest.raises(FactorRefused):
            finish_log_in(desk.database, waiting, proof, HERE)


def test_removal_needs_the_password_and_takes_the_recovery_codes(desk: ServiceContext) -> None:
    ana = logged_in(desk)
    with_app(ana)
    with pytest.raises(TarantulaError, match="not the current password"):
        own_factors.remove_totp(ana, "wrong wrong wrong")
    own_factors.remove_totp(ana, PASSWORD)
    assert own_factors.overview(ana).recovery_codes == 0
    assert log_in(desk.database, "ana", PASSWORD, HERE) is not None
    assert details(desk, "factor.remove") == [{"factor": "totp"}]
    for act in (own_factors.remove_totp, own_factors.new_recovery_codes):
        with pytest.raises(ConflictError):
            act(ana, PASSWORD)


def test_guessing_the_password_in_a_session_is_delayed(desk: ServiceContext) -> None:
    ana = logged_in(desk)
    guesses = (partial(own_factors.begin_totp, ana), lambda guess: accounts.change_password(ana, guess, PASSWORD))
    for number in range(PAIR_LIMIT.free):
        with pytest.raises(TarantulaError, match="not the current password"):
            guesses[number % 2]("wrong wrong wrong")
    with pytest.raises(TooManyLogins):
        own_factors.begin_totp(ana, PASSWORD)
    # Logins are not delayed by it.
    assert log_in(desk.database, "ana", PASSWORD, HERE) is not None


def test_an_administrator_resets_the_factors_of_others(desk: ServiceContext) -> None:
    ana, rui = logged_in(desk), logged_in(desk, "rui")
    with_app(rui)
    waiting = attempt(desk, "rui")
    assert accounts.get_account(ana, "rui").second_factors == ["totp"]
    with pytest.raises(TarantulaError, match="rui is a curator"):
        accounts.reset_factors(rui, "ana")
    with pytest.raises(ConflictError, match="page of your account"):
        accounts.reset_factors(ana, "ana")
    accounts.reset_factors(ana, "rui")
    assert accounts.get_account(ana, "rui").second_factors == []
    with pytest.raises(AttemptOver):
        finish_log_in(desk.database, waiting, code_proof("123456"), HERE)
    with desk.database.reading() as session:
        assert rui.person.session is not None
        assert sessions.person_of(session, rui.person.session) is None
        assert session.scalars(select(RecoveryCode)).all() == []
    assert log_in(desk.database, "rui", PASSWORD, HERE) is not None
    with pytest.raises(ConflictError, match="rui has no second factor"):
        accounts.reset_factors(desk, "rui")
    assert details(desk, "account.reset_factors") == [{}]


def test_factors_are_removed_with_their_account(desk: ServiceContext) -> None:
    with_app(logged_in(desk, "rui"))
    attempt(desk, "rui")
    accounts.remove_account(desk, "rui")
    with desk.database.reading() as session:
        for table in (TotpFactor, RecoveryCode, LoginAttempt):
            assert session.scalars(select(table)).all() == []


def test_roles_that_need_a_second_factor(desk: ServiceContext) -> None:
    def needs(secret: str | None) -> bool:
        person = authenticator.person_of_session(secret)
        assert person is not None
        return person.needs_factor

    setting = Config(**{**desk.installation.model_dump(), "require_second_factor": "administrator, reader"})
    authenticator = Authenticator(setting, desk.database)
    ana = log_in(desk.database, "ana", PASSWORD, HERE)
    assert ana is not None
    assert needs(ana)
    assert not needs(log_in(desk.database, "rui", PASSWORD, HERE))
    with_app(session_of(desk, ana))
    assert not needs(ana)
    own_factors.remove_totp(session_of(desk, ana), PASSWORD)
    assert needs(ana)
    with pytest.raises(TarantulaError, match="TARANTULA_REQUIRE_SECOND_FACTOR: 'king' is not a role"):
        Authenticator(Config(require_second_factor="king"), desk.database)


def test_a_token_changes_no_factor(desk: ServiceContext) -> None:
    ana = logged_in(desk)
    by_token = ServiceContext(desk.installation, desk.database, ana.person._replace(token="harvest", session=None))
    for act in (own_factors.begin_totp, own_factors.remove_totp, own_factors.new_recovery_codes):
        with pytest.raises(TarantulaError, match="A token cannot do this"):
            act(by_token, PASSWORD)
