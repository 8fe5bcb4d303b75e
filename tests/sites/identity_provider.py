"""An OpenID Connect provider on loopback, which can misbehave.

It checks what the standard asks of a provider: the client and its secret, the redirect URI, that a code is used once,
and the code challenge. It logs the person in without asking.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from base64 import b64decode, urlsafe_b64encode
from functools import cache
from hashlib import sha256
from secrets import token_urlsafe
from time import time
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from tests.sites.server import Answer, Visit, Web

CLIENT_ID, CLIENT_SECRET = "tarantula", "secret: with ü and %"
Json = dict[str, Any]


def encoded(value: object) -> str:
    """Return a part of a token."""
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


@cache
def keys_of(generation: int) -> tuple[RSAKey, ECKey]:
    """Return keys, which take long to generate."""
    keys = RSAKey.generate_key(2048), ECKey.generate_key("P-256")
    for key in keys:
        key.ensure_kid()
    return keys


class IdentityProvider:
    """A provider with one person, who is logged in."""

    def __init__(self) -> None:
        self.host = "127.0.0.1"
        """Name in its addresses; to a browser, localhost is another site than 127.0.0.1."""
        self.person: Json = {"sub": "248289761001", "preferred_username": "ana", "email": "ana@example.org"}
        self.userinfo: Json = {}
        """Claims that only the userinfo endpoint has."""
        self.changes: Json = {}
        """Claims of ID tokens that differ from the right ones; ``None`` leaves one out."""
        self.algorithm = "RS256"
        self.error = ""
        """Error that the authorization endpoint returns."""
        self.answers: dict[str, Answer] = {}
        """Answers instead of the right ones, by path."""
        self.seconds = 0.0
        """Delay of the token endpoint."""
        self.configuration: Json = {}
        """Changes of the configuration."""
        self.has_key_ids = True
        self.problems: list[str] = []
        """What clients did wrong."""
        self._generation = 0
        self._codes: dict[str, Json] = {}
        self._access_tokens: set[str] = set()
        self.rotate()
        paths = {
            "/.well-known/openid-configuration": self._configuration,
            "/authorize": self._authorize,
            "/token": self._token,
            "/keys": self._keys,
            "/userinfo": self._userinfo,
            "/logout": self._logout,
        }
        self._handlers = paths
        self.web = Web({}, fallback=self._answer)

    @property
    def issuer(self) -> str:
        """The issuer."""
        return f"http://{self.host}:{self.web.port}"

    def rotate(self) -> None:
        """Replace the keys."""
        self._generation += 1
        self.rsa, self.ec = keys_of(self._generation)

    async def _answer(self, visit: Visit, _: asyncio.Transport) -> Answer | None:
        path = urlsplit(visit.path).path
        if path in self.answers:
            return self.answers[path]
        if path == "/token" and self.seconds:
            await asyncio.sleep(self.seconds)
        handler = self._handlers.get(path)
        return handler(visit) if handler else Answer("Not found", status=404)

    def _configuration(self, visit: Visit) -> Answer:
        endpoints = {
            "authorization_endpoint": "/authorize?tenant=a",
            "token_endpoint": "/token",
            "jwks_uri": "/keys",
            "userinfo_endpoint": "/userinfo",
            "end_session_endpoint": "/logout",
        }
        whole = {name: f"{self.issuer}{path}" for name, path in endpoints.items()}
        return _json({"issuer": self.issuer, **whole, **self.configuration})

    def _authorize(self, visit: Visit) -> Answer:
        asked = dict(parse_qsl(urlsplit(visit.path).query))
        self._expect(asked.get("response_type") == "code", "response_type")
        self._expect(asked.get("client_id") == CLIENT_ID, "client_id")
        self._expect("openid" in asked.get("scope", "").split(), "scope")
        self._expect(asked.get("code_challenge_method") == "S256", "code_challenge_method")
        self._expect(asked.get("tenant") == "a", "the query of the endpoint")
        code = token_urlsafe(8)
        self._codes[code] = asked
        answer = {"error": self.error} if self.error else {"code": code}
        back = urlencode({**answer, "state": asked["state"], "iss": self.issuer})
        return Answer(status=302, headers={"Location": f"{asked['redirect_uri']}?{back}"})

    def _token(self, visit: Visit) -> Answer:
        form = dict(parse_qsl(visit.body.decode()))
        kind, _, credentials = visit.headers.get("authorization", "").partition(" ")
        if kind == "Basic":
            name, _, secret = (unquote_plus(part) for part in b64decode(credentials).decode().partition(":"))
        else:
            name, secret = form.get("client_id", ""), form.get("client_secret", "")
        asked = self._codes.pop(form.get("code", ""), None)
        if (name, secret) != (CLIENT_ID, CLIENT_SECRET) or asked is None:
            return _json({"error": "invalid_client" if asked else "invalid_grant"}, 400)
        challenge = encoded(sha256(form.get("code_verifier", "").encode()).digest())
        self._expect(challenge == asked["code_challenge"], "code_verifier")
        self._expect(form.get("redirect_uri") == asked["redirect_uri"], "redirect_uri")
        self._expect(form.get("grant_type") == "authorization_code", "grant_type")
        access_token = token_urlsafe(8)
        self._access_tokens.add(access_token)
        tokens = {"access_token": access_token, "token_type": "Bearer", "id_token": self.id_token(asked["nonce"])}
        return _json(tokens)

    def id_token(self, nonce: str) -> str:
        """Return an ID token of the person, with what is wrong about it."""
        now = int(time())
        right = {"iss": self.issuer, "aud": CLIENT_ID, "exp": now + 300, "iat": now, "nonce": nonce, **self.person}
        claims = {name: value for name, value in {**right, **self.changes}.items() if value is not None}
        key = self.ec if self.algorithm.startswith("ES") else self.rsa
        header = {"alg": self.algorithm, **({"kid": key.kid} if self.has_key_ids else {})}
        if self.algorithm == "none":
            return f"{encoded(header)}.{encoded(claims)}."
        if self.algorithm == "HS256":
            # With the public key as secret, which a client that trusts the header would verify with.
            public = self.rsa.as_pem(private=False)
            signed = f"{encoded(header)}.{encoded(claims)}"
            return f"{signed}.{encoded(hmac.digest(public, signed.encode(), 'sha256'))}"
        return jwt.encode(header, claims, key, algorithms=[self.algorithm])

    def _keys(self, visit: Visit) -> Answer:
        public = [key.as_dict(private=False) for key in (self.rsa, self.ec)]
        if not self.has_key_ids:
            public = [{name: value for name, value in key.items() if name != "kid"} for key in public]
        pem = self.rsa.as_pem(private=False)
        # Others that a client has to ignore: of an unknown kind, for encryption, damaged, and a secret.
        odd = [
            {"kty": "AKP", "kid": "new", "pub": "AA"},
            {"kty": "RSA", "kid": self.rsa.kid, "use": "enc", "n": "AQAB", "e": "AQAB"},
            {"kty": "EC", "crv": "P-256", "x": "?"},
            {"kty": "oct", "kid": self.rsa.kid, "k": encoded(pem)},
        ]
        return _json({"keys": [*odd, *public]})

    def _userinfo(self, visit: Visit) -> Answer:
        token = visit.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self._access_tokens:
            return _json({"error": "invalid_token"}, 401)
        return _json({"sub": self.person["sub"], **self.userinfo})

    def _logout(self, visit: Visit) -> Answer:
        asked = dict(parse_qsl(urlsplit(visit.path).query))
        self._expect(asked.get("id_token_hint", "").count(".") == 2, "id_token_hint")
        return Answer(status=302, headers={"Location": asked["post_logout_redirect_uri"]})

    def _expect(self, holds: bool, what: str) -> None:
        if not holds:
            self.problems.append(what)


def _json(value: object, status: int = 200) -> Answer:
    return Answer(json.dumps(value), "application/json", status)
