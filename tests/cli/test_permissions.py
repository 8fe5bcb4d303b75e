"""Only the owner reads what the program writes, whatever the umask; with TARANTULA_GROUP_ACCESS the group too."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tarantula.archive.export.exporter import ExportFormat
from tarantula.core.config import Config
from tarantula.core.files import restrict_home
from tests.sites.server import Answer, Web
from tests.support.crawls import SCRAPY, TARANTULA, run
from tests.support.web_server import web_server


@pytest.fixture(params=[0o000, 0o022])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """A umask with which the commands of a test start."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(*folders: Path) -> dict[str, str]:
    """Return the permissions of others and the group that files and folders have."""
    found = {}
    for folder in folders:
        for path in (folder, *folder.rglob("*")):
            mode = stat.S_IMODE(path.lstat().st_mode)
            if not path.is_symlink() and mode & 0o077:
                found[str(path)] = oct(mode)
    return found


def use_every_command(base: str, folder: Path) -> None:
    """Run every command that writes files: collect, convert, export, index, follow, serve, back up and restore."""
    backup, restored = folder / "backup", folder / "restored"

    def done(*arguments: str, **environment: str) -> str:
        code, out, err = run(*arguments, **environment)
        assert code == 0, (arguments, out, err)
        return out

    def tarantula(*arguments: str) -> str:
        return done(TARANTULA, *arguments)

    tarantula("publication", "add", "site", base, "--delay", "0")
    tarantula("crawl", "site")
    urn = next(Config().items.iterdir()).name
    done(SCRAPY, "crawl", "site")
    for form in ExportFormat:
        tarantula("item", "export", urn, "--format", form)
    tarantula("item", "export", urn, "--format", "wacz", "--output", str(folder / "outside.wacz"))
    tarantula("item", "convert", urn)
    tarantula("index")
    tarantula("verify")
    tarantula("stream", "add", "site.title", base, "--css", "title=h1")
    tarantula("stream", "poll", "site.title")
    with web_server(command="serve"):
        pass
    tarantula("backup", str(backup), "--with-mirrors")
    done(TARANTULA, "restore", str(backup), TARANTULA_HOME=str(restored))


def test_files_are_private_whatever_the_umask(config: Config, tmp_path: Path, umask: int) -> None:
    with Web({"/": Answer("<h1>One</h1><a href=b>b</a>"), "/b": Answer("b")}) as site:
        use_every_command(site.url("/"), tmp_path)
    assert (config.home / "tarantula.sqlite").exists()
    assert list((config.home / "archived").iterdir())
    assert list((config.home / "exports").iterdir())
    assert list((config.home / "search").iterdir())
    assert (tmp_path / "restored" / "tarantula.sqlite").exists()
    assert modes(config.home, tmp_path / "backup", tmp_path / "restored", tmp_path / "outside.wacz") == {}


def test_a_group_may_read_if_the_installation_says_so(
    config: Config, monkeypatch: pytest.MonkeyPatch, umask: int
) -> None:
    monkeypatch.setenv("TARANTULA_GROUP_ACCESS", "1")
    code, _, err = run(TARANTULA, "publication", "list")
    assert (code, err) == (0, "")
    assert stat.S_IMODE(config.home.stat().st_mode) == 0o750
    assert stat.S_IMODE((config.home / "tarantula.sqlite").stat().st_mode) == 0o640


def test_an_existing_home_is_restricted_with_a_log_line(config: Config, caplog: pytest.LogCaptureFixture) -> None:
    config.make_home()
    (config.home / "tarantula.sqlite").touch(0o644)
    (config.home / "tarantula.sqlite").chmod(0o644)
    config.home.chmod(0o755)
    config.make_home()
    assert modes(config.home) == {}
    assert [record.message for record in caplog.records] == [
        f"Other users could read {config.home}. Their permissions were removed; "
        "TARANTULA_GROUP_ACCESS=1 lets the group read."
    ]
    config.make_home()
    assert len(caplog.records) == 1


def test_a_directory_that_everyone_writes_to_is_left_as_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tmp_path.chmod(0o1777)
    caplog.set_level(logging.WARNING)
    restrict_home(tmp_path, group_access=False)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o1777
    assert f"Other users can read {tmp_path}" in caplog.text
