"""OpenID Connect: people log in at a provider, by the authorization code flow with PKCE (OpenID Connect Core 1.0, 3.1).

Every request to the provider is held to the egress policy: public addresses, the networks that the installation lists,
and the issuer itself if it is written as an address.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from http import HTTPStatus
from time import monotonic
from typing import Any, NamedTuple, Self
from urllib.parse import quote_plus, urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

from tarantula.accounts.roles import Role, parse_role
from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.sockets import is_loopback
from tarantula.core.urls import canonical
from tarantula.fetch.client import HttpClient
from tarantula.fetch.egress import EgressPolicy
from tarantula.fetch.exchange import DownloadError, FetchRequest

logger = logging.getLogger(__name__)

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Accepted signatures of ID tokens: neither ``none``, nor HMAC, for which a public key could serve as the secret."""
KEY_TYPES = ("RSA", "EC", "OKP")
DISCOVERY_PATH = "/.well-known/openid-configuration"
CACHE_SECONDS = 3600.0
"""Time for which the configuration and the keys of the provider are used before they are fetched again."""
FAILURE_SECONDS = 5.0
"""Time after which a provider that failed is asked again."""
TIMEOUT_SECONDS = 10.0
MAX_RESPONSE_BYTES = 1_000_000
CLOCK_TOLERANCE_SECONDS = 60
"""Difference between the clocks of the provider and this machine."""
MAX_SUBJECT_LENGTH = 255
"""Characters of a subject (OpenID Connect Core 1.0, 2)."""
Json = dict[str, Any]


class ProviderError(TarantulaError):
    """The provider cannot be used, or its answer is not as it should be."""


class OidcSettings(NamedTuple):
    """How people log in at the provider, and which accounts they get."""

    issuer: str
    client_id: str
    client_secret: str
    scopes: str
    label: str
    name_claim: str
    domain: str
    link_claim: str
    create: bool
    role: Role
    role_claim: str
    roles: dict[str, Role]

    @classmethod
    def of(cls, installation: Config) -> Self | None:
        """Return the settings of an installation; ``None`` without a provider."""
        if not installation.oidc_issuer:
            return None
        _check_issuer(installation.oidc_issuer)
        if not installation.oidc_client_id:
            raise TarantulaError("TARANTULA_OIDC_CLIENT_ID is missing: the name of this installation at the provider.")
        return cls(
            issuer=installation.oidc_issuer,
            client_id=installation.oidc_client_id,
            client_secret=_client_secret(installation),
            scopes=" ".join(dict.fromkeys(["openid", *installation.oidc_scopes.split()])),
            label=installation.oidc_label or urlsplit(installation.oidc_issuer).hostname or "",
            name_claim=installation.oidc_name_claim,
            domain=installation.oidc_domain.lower().lstrip("@"),
            link_claim=installation.oidc_link_claim,
            create=installation.oidc_create,
            role=parse_role(installation.oidc_role),
            role_claim=installation.oidc_role_claim,
            roles=dict(_parse_roles(installation.oidc_roles)),
        )

    @property
    def needed_claims(self) -> list[str]:
        """Claims that are asked of the userinfo endpoint if the ID token lacks them."""
        return [*filter(None, (self.name_claim if self.create else "", self.link_claim, self.role_claim))]


def _check_issuer(issuer: str) -> None:
    parts = urlsplit(issuer)
    is_local = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if not (is_local or parts.scheme == "https") or not parts.hostname or parts.query or parts.fragment:
        raise TarantulaError(
            "TARANTULA_OIDC_ISSUER is {issuer}. Write the issuer as the provider does, beginning with https://; "
            "http:// is for providers on this machine.",
            issuer=issuer[:200],
        )


def _client_secret(installation: Config) -> str:
    if installation.oidc_client_secret or installation.oidc_client_secret_file is None:
        return installation.oidc_client_secret
    try:
        return installation.oidc_client_secret_file.expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise TarantulaError(
            "The file {path} in TARANTULA_OIDC_CLIENT_SECRET_FILE cannot be read ({error}).",
            path=installation.oidc_client_secret_file,
            error=getattr(error, "strerror", None) or "it is not text",
        ) from error


def _parse_roles(text: str) -> Iterator[tuple[str, Role]]:
    for pair in filter(None, map(str.strip, text.split(";"))):
        value, separator, role = pair.rpartition("=")
        if not separator:
            raise TarantulaError(
                "TARANTULA_OIDC_ROLES has {pair!r}. Write a value and its role, as archivists=curator; staff=reader.",
                pair=pair[:80],
            )
        yield value.strip(), parse_role(role)


class PendingLogin(NamedTuple):
    """A login that waits for the provider; kept in a cookie of the browser that has begun it."""

    state: str
    nonce: str
    verifier: str
    target: str
    """Path to go to afterwards."""

    @classmethod
    def begin(cls, target: str) -> Self:
        """Return a new login."""
        return cls(secrets.token_urlsafe(24), secrets.token_urlsafe(24), secrets.token_urlsafe(48), target[:2000])

    @classmethod
    def parse(cls, cookie: str | None) -> Self | None:
        """Return the login of a cookie; ``None`` if there is none."""
        try:
            found = cls(*json.loads(urlsafe_b64decode((cookie or "").encode())))
        except (ValueError, TypeError):
            return None
        return found if all(isinstance(part, str) for part in found) and found.state and found.nonce else None

    def cookie(self) -> str:
        """Return the value of the cookie."""
        return urlsafe_b64encode(json.dumps(self).encode()).decode()

    @property
    def challenge(self) -> str:
        """The S256 code challenge (RFC 7636, 4.2)."""
        return urlsafe_b64encode(sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()


class ProviderIdentity(NamedTuple):
    """A person, as the provider describes them."""

    issuer: str
    subject: str
    claims: Json
    id_token: str


class OidcProvider:
    """The provider of an installation. Belongs to one event loop."""

    def __init__(self, installation: Config, settings: OidcSettings) -> None:
        self.settings = settings
        self._policy = EgressPolicy.of(installation, filter(None, [canonical(settings.issuer)]))
        self._user_agent = installation.user_agent
        self._lock = asyncio.Lock()
        self._configuration: Json = {}
        self._fetched_at = -CACHE_SECONDS
        self._failure: tuple[float, ProviderError] | None = None
        self._keys: list[Any] = []
        self._keys_at = -CACHE_SECONDS

    async def authorization_url(self, redirect_uri: str, login: PendingLogin) -> str:
        """Return the address at the provider where the person logs in."""
        parameters = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": redirect_uri,
            "scope": self.settings.scopes,
            "state": login.state,
            "nonce": login.nonce,
            "code_challenge": login.challenge,
            "code_challenge_method": "S256",
        }
        return _with_query(await self._endpoint("authorization_endpoint"), parameters)

    async def identity(self, redirect_uri: str, login: PendingLogin, answer: Mapping[str, str]) -> ProviderIdentity:
        """Return the person who comes back from the provider; raise `ProviderError` if the answer is not valid."""
        if not secrets.compare_digest(answer.get("state", "").encode(), login.state.encode()):
            raise ProviderError("This login was begun in another window, or too long ago. Log in again.")
        configuration = await self._configured()
        must_name_issuer = configuration.get("authorization_response_iss_parameter_supported") is True
        # RFC 9207: an answer of another provider would have its code sent to this one.
        if answer.get("iss", "" if must_name_issuer else self.settings.issuer) != self.settings.issuer:
            raise ProviderError("The answer comes from another provider. Log in again.")
        if "error" in answer or not answer.get("code"):
            raise ProviderError(
                "{provider} refused the login: {error}.",
                provider=self.settings.label,
                error=answer.get("error", "no code")[:60],
            )
        tokens = await self._tokens(redirect_uri, login, answer["code"])
        if not isinstance(id_token := tokens.get("id_token"), str):
            raise ProviderError("{provider} sent no ID token.", provider=self.settings.label)
        claims = await self._verified(id_token, login.nonce)
        claims = {**await self._userinfo(claims, tokens.get("access_token")), **claims}
        return ProviderIdentity(self.settings.issuer, claims["sub"], claims, id_token)

    async def logout_url(self, return_to: str, id_token: str) -> str | None:
        """Return the address at the provider that ends the session there; ``None`` if it has none."""
        if "end_session_endpoint" not in await self._configured():
            return None
        parameters = {"client_id": self.settings.client_id, "post_logout_redirect_uri": return_to}
        hint = {"id_token_hint": id_token} if id_token else {}
        return _with_query(await self._endpoint("end_session_endpoint"), {**hint, **parameters})

    async def _configured(self) -> Json:
        """Return the configuration of the provider (OpenID Connect Discovery 1.0, 4)."""
        async with self._lock:
            if monotonic() < self._fetched_at + CACHE_SECONDS:
                return self._configuration
            if self._failure is not None and monotonic() < self._failure[0] + FAILURE_SECONDS:
                raise self._failure[1]
            try:
                found = await self._json(self.settings.issuer.rstrip("/") + DISCOVERY_PATH)
                if found.get("issuer") != self.settings.issuer:
                    raise ProviderError(
                        "The provider calls itself {found!r}, and TARANTULA_OIDC_ISSUER is {issuer!r}. "
                        "They must be equal.",
                        found=str(found.get("issuer"))[:200],
                        issuer=self.settings.issuer,
                    )
            except ProviderError as error:
                self._failure = monotonic(), error
                raise
            self._configuration, self._fetched_at, self._failure = found, monotonic(), None
            return found

    async def _endpoint(self, name: str) -> str:
        url = (await self._configured()).get(name)
        parts = urlsplit(url if isinstance(url, str) else "")
        issuer = urlsplit(self.settings.issuer)
        is_local = issuer.scheme == parts.scheme == "http" and is_loopback(parts.hostname or "")
        if not (is_local or parts.scheme == "https") or not parts.hostname:
            raise ProviderError(
                "The configuration of {provider} has no {name} that begins with https://.",
                provider=self.settings.label,
                name=name,
            )
        return parts.geturl()

    async def _tokens(self, redirect_uri: str, login: PendingLogin, code: str) -> Json:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": login.verifier,
        }
        headers = [(b"Content-Type", b"application/x-www-form-urlencoded")]
        name, secret = self.settings.client_id, self.settings.client_secret
        methods = (await self._configured()).get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if secret and "client_secret_basic" in methods:
            # RFC 6749, 2.3.1: both are form-encoded first.
            credentials = b64encode(f"{quote_plus(name)}:{quote_plus(secret)}".encode())
            headers.append((b"Authorization", b"Basic " + credentials))
        else:
            form |= {"client_id": name} | ({"client_secret": secret} if secret else {})
        endpoint = await self._endpoint("token_endpoint")
        return await self._json(endpoint, headers, "POST", urlencode(form).encode())

    async def _userinfo(self, claims: Json, access_token: object) -> Json:
        """Return the claims of the userinfo endpoint, if the ID token lacks some that are needed."""
        is_whole = all(claim_values(claims, name) for name in self.settings.needed_claims)
        if is_whole or not isinstance(access_token, str) or "userinfo_endpoint" not in await self._configured():
            return {}
        header = (b"Authorization", f"Bearer {access_token}".encode("latin-1", "replace"))
        found = await self._json(await self._endpoint("userinfo_endpoint"), [header])
        # OpenID Connect Core 1.0, 5.3.2: otherwise it may be about another person.
        return found if found.get("sub") == claims["sub"] else {}

    async def _verified(self, id_token: str, nonce: str) -> Json:
        """Return the claims of an ID token after its signature and they were checked."""
        are_fresh = monotonic() >= self._keys_at + CACHE_SECONDS
        if are_fresh:
            await self._fetch_keys()
        claims = decode_id_token(id_token, self._keys)
        if claims is None and not are_fresh:
            # The provider may have other keys since.
            await self._fetch_keys()
            claims = decode_id_token(id_token, self._keys)
        if claims is None:
            raise ProviderError("The ID token is not signed with a key of {provider}.", provider=self.settings.label)
        check_claims(claims, self.settings, nonce)
        return claims

    async def _fetch_keys(self) -> None:
        from joserfc.errors import JoseError
        from joserfc.jwk import import_key

        keys = []
        for entry in (await self._json(await self._endpoint("jwks_uri"))).get("keys") or ():
            if isinstance(entry, dict) and entry.get("kty") in KEY_TYPES and entry.get("use", "sig") == "sig":
                try:
                    keys.append(import_key(entry))
                except (JoseError, ValueError, TypeError, KeyError):
                    # A key of a kind that is not known here; others may do.
                    continue
        self._keys, self._keys_at = keys, monotonic()

    async def _json(
        self, url: str, headers: list[tuple[bytes, bytes]] | None = None, method: str = "GET", body: bytes = b""
    ) -> Json:
        """Request JSON from the provider."""
        parts = urlsplit(url)
        proxy = "" if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme, "")
        common = [(b"Accept", b"application/json"), (b"User-Agent", self._user_agent.encode())]
        request = FetchRequest(
            url,
            headers=[*common, *(headers or ())],
            method=method,
            body=body,
            timeout=TIMEOUT_SECONDS,
            max_size=MAX_RESPONSE_BYTES,
            proxy=proxy,
        )
        client = HttpClient(policy=self._policy)
        try:
            answer = await client.fetch(request)
        except DownloadError as error:
            # The reason may have addresses of this network, and the login page is public.
            logger.warning("%s cannot be reached. %s", self.settings.label, error.reason)
            raise ProviderError(
                "{provider} cannot be reached. Try again later; the log of the server has the reason.",
                provider=self.settings.label,
            ) from error
        finally:
            await client.close()
        return self._parsed(answer.status, answer.body, parts.path)

    def _parsed(self, status: int, body: bytes, path: str) -> Json:
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        if status == HTTPStatus.OK and isinstance(found, dict):
            return found
        error = found.get("error") if isinstance(found, dict) else None
        raise ProviderError(
            "{provider} answered {path} with status {status} ({error}).",
            provider=self.settings.label,
            path=path[:100],
            status=status,
            error=error[:60] if isinstance(error, str) else "not the JSON that was expected",
        )


def decode_id_token(id_token: str, keys: list[Any]) -> Json | None:
    """Return the claims of an ID token; ``None`` if none of the keys has signed it."""
    from joserfc import jws, jwt
    from joserfc.errors import JoseError

    try:
        header = jws.extract_compact(id_token.encode()).headers()
    except (JoseError, ValueError) as error:
        raise ProviderError("The ID token is damaged.") from error
    if header.get("alg") not in ALGORITHMS:
        raise ProviderError(
            "The ID token is signed with {algorithm!r}, which is not accepted. "
            "Choose one of {algorithms} at the provider.",
            algorithm=str(header.get("alg"))[:20],
            algorithms=", ".join(ALGORITHMS),
        )
    for key in keys:
        if header.get("kid") not in (None, key.get("kid")) or key.get("alg") not in (None, header["alg"]):
            continue
        try:
            return jwt.decode(id_token, key, algorithms=[header["alg"]]).claims
        except (JoseError, ValueError):
            continue
    return None


def check_claims(claims: Json, settings: OidcSettings, nonce: str) -> None:
    """Raise `ProviderError` if an ID token is not for this login (OpenID Connect Core 1.0, 3.1.3.7)."""
    from joserfc.errors import ExpiredTokenError, JoseError
    from joserfc.jwt import JWTClaimsRegistry

    registry = JWTClaimsRegistry(
        leeway=CLOCK_TOLERANCE_SECONDS,
        iss={"essential": True, "value": settings.issuer},
        aud={"essential": True, "value": settings.client_id},
        exp={"essential": True},
        iat={"essential": True},
        sub={"essential": True},
    )
    try:
        registry.validate(claims)
    except ExpiredTokenError as error:
        raise ProviderError(
            "The ID token has expired. Check the clocks of the provider and of this machine."
        ) from error
    except JoseError as error:
        raise ProviderError(
            "The ID token is not valid here ({problem}).", problem=(error.description or error.error)[:100]
        ) from error
    audience = claims["aud"]
    is_shared = isinstance(audience, list) and len(audience) > 1
    if claims.get("azp", None if is_shared else settings.client_id) != settings.client_id:
        raise ProviderError("The ID token is for another client of the provider.")
    if claims.get("nonce") != nonce:
        raise ProviderError("The ID token belongs to another login. Log in again.")
    if not claims["sub"].isprintable() or len(claims["sub"]) > MAX_SUBJECT_LENGTH:
        raise ProviderError("The ID token has a subject that cannot be stored.")


def claim_values(claims: Json, name: str) -> list[str]:
    """Return the texts of a claim, which may be inside others, as ``realm_access.roles``."""
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, dict) else None
    values = found if isinstance(found, list) else [found]
    return [value for value in values if isinstance(value, str) and value]


def _with_query(url: str, parameters: Mapping[str, str]) -> str:
    return f"{url}{'&' if urlsplit(url).query else '?'}{urlencode(parameters)}"
