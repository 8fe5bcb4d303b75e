"""Configuration from environment variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError


def test_everything_is_in_the_home(config: Config, tmp_path: Path) -> None:
    assert config.home == tmp_path / "home"
    assert config.items == tmp_path / "home" / "items"
    assert config.url == f"sqlite:///{tmp_path / 'home' / 'tarantula.sqlite'}"


@pytest.mark.parametrize(
    ("contact", "mail", "said"),
    [
        ("", "robot@example.org", "+mailto:robot@example.org)"),
        ("https://example.org/robot", "robot@example.org", "+https://example.org/robot)"),
    ],
)
def test_the_user_agent_says_how_to_reach_us(contact: str, mail: str, said: str) -> None:
    agent = Config(contact=contact, mail=mail).user_agent
    assert agent.startswith("Mozilla/5.0 (compatible; Tarantula/")
    assert agent.endswith(said)


def test_there_is_always_a_mail_address(config: Config) -> None:
    assert "@" in config.mail


@pytest.mark.parametrize("size", ["0", "-1", "many"])
def test_a_wrong_environment_is_a_sentence(monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    monkeypatch.setenv("TARANTULA_WARC_SIZE", size)
    with pytest.raises(TarantulaError, match="TARANTULA_WARC_SIZE: "):
        Config()
