"""Chromium is started with its sandbox and without a network, or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tarantula.browser import chromium as chromium_settings
from tarantula.browser.chromium import LAUNCHER, NAMESPACE_SETTING, browser_settings, check_browser, namespace_options
from tarantula.core.errors import TarantulaError
from tests.support.crawls import ROOT

LAUNCHED = """
import json, os, pathlib, tempfile
from playwright.sync_api import sync_playwright
from tarantula.browser.chromium import ONLINE_SCRIPT, browser_settings, namespace_options

own = os.readlink("/proc/self/ns/net")
# The interpreter may be in a folder that only root can read: the account is changed once it runs.
os.setgroups([]), os.setgid(65534), os.setuid(65534)
os.environ["HOME"] = tempfile.mkdtemp()

def status(process):
    fields = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    return {
        "seccomp": fields["Seccomp"].strip(),
        "arguments": (process / "cmdline").read_text(),
    }

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(**browser_settings("x")["PLAYWRIGHT_LAUNCH_OPTIONS"])
    page = browser.new_page()
    page.add_init_script(ONLINE_SCRIPT)
    page.route("**", lambda route: route.fulfill(body="<p>served</p>", content_type="text/html"))
    page.goto("http://example.test/")
    seen, networks = [], []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_text()
            if process.name == str(os.getpid()) or process.stat().st_uid != os.getuid():
                continue
            if "--type=renderer" in command:
                seen.append(status(process))
            elif "--remote-debugging-pipe" in command and "--type=" not in command:
                networks.append(os.readlink(process / "ns/net"))
        except OSError:
            pass
    print(json.dumps({"text": page.inner_text("p"), "online": page.evaluate("navigator.onLine"), "renderers": seen,
                      "networks": networks,
                      "own": own, "namespace": namespace_options()}))
    browser.close()
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="changes to another account, as root can")
@pytest.mark.parametrize("wanted", ["auto", "off"])
def test_without_root_chromium_has_its_sandbox_and_no_network(chromium: str, wanted: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", LAUNCHED],
        env={**environment, NAMESPACE_SETTING: wanted, "TARANTULA_CHROMIUM": chromium},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert (found["text"], found["online"]) == ("served", True)
    assert found["renderers"]
    for renderer in found["renderers"]:
        assert renderer["seccomp"] == "2", "filtered system calls"
        assert "--no-sandbox" not in renderer["arguments"]
    assert found["networks"]
    assert all((network == found["own"]) is (found["namespace"] == "") for network in found["networks"])
    assert wanted == "auto" or found["namespace"] == ""


def test_a_required_namespace_that_cannot_be_made_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With a command unshare that is refused, as in a container."""
    refused = tmp_path / "unshare"
    refused.write_text("#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\nexit 1\n")
    refused.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    chromium_settings._probe_namespaces.cache_clear()
    chromium_settings.log_isolation.cache_clear()
    try:
        assert namespace_options() == ""
        assert browser_settings("x")["PLAYWRIGHT_LAUNCH_OPTIONS"].get("executable_path") != str(LAUNCHER)
        chromium_settings.log_isolation()
        chromium_settings.log_isolation()
        assert [record.getMessage().count("Operation not permitted") for record in caplog.records] == [1]
        monkeypatch.setenv(NAMESPACE_SETTING, "required")
        for ask in (namespace_options, check_browser, lambda: browser_settings("x")):
            with pytest.raises(TarantulaError, match="none can be made here: unshare: unshare failed"):
                ask()
    finally:
        chromium_settings._probe_namespaces.cache_clear()
        chromium_settings.log_isolation.cache_clear()


def test_an_unknown_value_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAMESPACE_SETTING, "perhaps")
    with pytest.raises(TarantulaError, match=r"'perhaps'\. Set it to one of: auto, required, off"):
        namespace_options()


def test_as_root_rendering_needs_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    monkeypatch.delenv(chromium_settings.RENDER_AS_ROOT, raising=False)
    with pytest.raises(TarantulaError, match="TARANTULA_RENDER_AS_ROOT=1"):
        check_browser()
