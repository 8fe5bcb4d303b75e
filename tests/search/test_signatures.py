"""Signed requests between clients, gateways and barrels: refused without the key, altered, late or twice."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from time import time

import pytest

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.search.barrels import signatures
from tarantula.search.barrels.client import GatewayClient
from tarantula.search.barrels.signatures import (
    OTHER_KEY,
    REPEATED,
    SIGNATURE_HEADER,
    UNSIGNED,
    RequestSigner,
    RequestVerifier,
    SearchKeys,
    Signature,
    SignatureRefused,
)
from tarantula.search.results import SearchRequest
from tests.support.barrels import arrive, new_item, start_barrel, start_gateway
from tests.support.command_result import Tarantula
from tests.support.waits import eventually
from tests.support.web_server import api_client

KEY, OTHER = "k" * 32, "o" * 32
BODY = b'{"query": "x"}'


def keys(*words: str) -> SearchKeys:
    return SearchKeys(Config(search_key=";".join(words)))


def signed(signer: RequestSigner, body: bytes = BODY) -> Signature:
    signature = signer.sign("here", "/find", body)
    assert signature is not None
    return signature


def refusal(verifier: RequestVerifier, header: str | None, path: str = "/find", body: bytes = BODY) -> str:
    return verifier.verify({SIGNATURE_HEADER: header} if header is not None else {}, path, body)[1]


def test_a_request_is_accepted_once_and_unaltered() -> None:
    signer, verifier = RequestSigner(keys(KEY)), RequestVerifier(keys(KEY))
    header = signed(signer).header
    name, at, nonce, mac = header.split()
    altered = [
        f"{name} {int(at) + 1} {nonce} {mac}",
        f"{name} {at} {nonce[::-1]} {mac}",
        f"{name} {at} {nonce} {mac[::-1]}",
        f"{name} {at} {nonce}",
        f"{name}",
        "",
        "x y z é",
        signed(RequestSigner(keys(OTHER))).header,
    ]
    assert {refusal(verifier, one) for one in altered} == {OTHER_KEY}
    assert refusal(verifier, header, body=BODY + b" ") == refusal(verifier, header, "/complete") == OTHER_KEY
    assert refusal(verifier, None) == UNSIGNED
    assert (refusal(verifier, header), refusal(verifier, header)) == ("", REPEATED)
    assert refusal(RequestVerifier(keys(KEY), is_required=False), None) == ""


def test_a_wrong_clock_costs_one_more_request(monkeypatch: pytest.MonkeyPatch) -> None:
    signer, verifier = RequestSigner(keys(KEY)), RequestVerifier(keys(KEY))

    def ask() -> bool:
        signature = signed(signer)
        with monkeypatch.context() as patch:
            patch.setattr(signatures, "time", lambda: time() + 86_400)
            answer, refused = verifier.verify({SIGNATURE_HEADER: signature.header}, "/find", BODY)
            assert answer is not None
            status = 401 if refused else 200
            header = verifier.sign(answer, status, b"{}")
        return signer.verify("here", signature, header, status, b"{}")

    assert [ask(), ask(), ask()] == [False, True, True]


def test_answers_are_verified() -> None:
    signer, verifier = RequestSigner(keys(KEY)), RequestVerifier(keys(KEY))
    first, second = signed(signer), signed(signer)
    header = verifier.sign(first, 200, b"answer")
    assert signer.verify("here", first, header, 200, b"answer")
    assert signer.verify("here", first, None, 503, b"there are too many connections")
    for signature, said, status, body in (
        (first, header, 200, b"another"),
        (first, header, 401, b"answer"),
        (second, header, 200, b"answer"),
        (first, None, 200, b"answer"),
        (first, None, 401, b"answer"),
        (first, f"é{header}", 200, b"answer"),
    ):
        with pytest.raises(SignatureRefused, match="does not have the same key"):
            signer.verify("here", signature, said, status, body)


def test_keys_are_rotated_while_processes_run(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signatures, "KEY_CHECK_SECONDS", 0.0)
    created = SearchKeys(config, create=True)
    signer, verifier = RequestSigner(created), RequestVerifier(SearchKeys(config))
    first = signed(signer).header
    before = config.search_key_path.read_text().split()
    for words in ([*before, KEY], [KEY, *before], [KEY]):
        # The server still has the keys from before this step, or already those from after it.
        late = signed(signer).header
        config.search_key_path.write_text("\n".join(words))
        os.utime(config.search_key_path, ns=(time_ns := len(words) * 10**9 + len("".join(words)), time_ns))
        if words != [KEY]:
            assert refusal(verifier, late) == ""
        assert refusal(verifier, signed(signer).header) == ""
    assert refusal(verifier, first) == OTHER_KEY


def test_a_key_is_created_once_and_for_its_owner_only(config: Config) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: SearchKeys(config, create=True).first, range(8)))
    assert len(set(made)) == 1
    assert stat.S_IMODE(config.search_key_path.stat().st_mode) == 0o600
    assert [path.name for path in config.home.glob("*search.key*")] == ["search.key"]


@pytest.mark.parametrize("content", [b"short", b"\xff\xfe" * 40])
def test_a_key_file_that_cannot_be_used_is_reported(config: Config, tarantula: Tarantula, content: bytes) -> None:
    config.make_home()
    config.search_key_path.write_bytes(content)
    for command in (("gateway",), ("barrel",), ("search", "--gateway", "http://127.0.0.1:9", "x")):
        done = tarantula(*command)
        assert (done.code, "search.key" in done.err, "Traceback" in done.err) == (2, True, False)


def test_gateways_and_barrels_answer_only_who_has_the_key(
    sqlite: Database, tarantula: Tarantula, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a kill and a restart of the barrel, and with a client, a gateway and a barrel that have other keys."""
    arrive(sqlite, new_item(sqlite), {"a": "It is everywhere."})
    barrel, barrel_address = start_barrel(tmp_path / "b")
    _, address = start_gateway()
    _, open_address = start_gateway("--unsigned")
    question = {"query": "everywhere", "withheld": []}
    eventually(lambda: tarantula("search", "--gateway", address, "everywhere").code == 0)
    for place in (address, barrel_address):
        with api_client(place) as client:
            for headers in ({}, {SIGNATURE_HEADER: "x 1 y z"}):
                answer = client.post("/find", json=question, headers=headers)
                assert (answer.status_code, "Copy the key file search.key" in answer.json()["error"]) == (401, True)
            rebound = client.post("/find", json=question, headers={"Host": "evil.example:7700"})
            assert (rebound.status_code, "evil.example" in rebound.json()["error"]) == (421, True)
    with api_client(open_address) as client:
        assert client.post("/find", json=question).json()["documents"] == 1
    barrel.kill()
    barrel.wait()
    start_barrel(tmp_path / "b")
    eventually(lambda: tarantula("search", "--gateway", address, "everywhere").code == 0)
    with closing(GatewayClient(address, keys(OTHER))) as stranger, pytest.raises(TarantulaError, match="the same key"):
        stranger.find(SearchRequest(query="everywhere"))
    # A gateway with another key finds no barrel that it believes, and says why at once.
    monkeypatch.setenv("TARANTULA_SEARCH_KEY", OTHER)
    _, other_gateway = start_gateway()
    done = tarantula("search", "--gateway", other_gateway, "everywhere")
    assert (done.code, "does not have the same key" in done.err, "Traceback" in done.err) == (2, True, False)
    start_barrel(tmp_path / "c")
    eventually(lambda: tarantula("search", "--gateway", other_gateway, "everywhere").code == 0)
    assert json.loads(tarantula("search", "--gateway", other_gateway, "--json", "everywhere").out)["documents"] == 1
