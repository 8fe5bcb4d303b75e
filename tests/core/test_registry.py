"""Components by name and by import path."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tarantula.core.registry import ComponentError, Registry, component_paths, load_object


class Greeting:
    def __init__(self, name: str) -> None:
        if not name:
            raise KeyError("name")
        self.text = f"Hello {name}"

    def say(self) -> str:
        return self.text


class Mute(Greeting):
    say = None  # type: ignore[assignment]


REGISTRY: Registry[type[Greeting]] = Registry("greeting", {"hello": Greeting}, base=Greeting, methods=("say",))


def test_built_in_components_are_found_by_name_and_others_by_import_path() -> None:
    assert REGISTRY.load("hello") is Greeting
    assert REGISTRY.load(f"{__name__}.Greeting") is Greeting
    assert list(REGISTRY) == ["hello"]
    assert "hello" in REGISTRY


def test_more_names_are_import_paths() -> None:
    extended = REGISTRY.extended({"bom-dia": f"{__name__}.Greeting"})
    assert extended.load("bom-dia") is Greeting
    assert "bom-dia" not in REGISTRY


def test_an_unknown_name_gives_a_suggestion() -> None:
    with pytest.raises(ComponentError, match=r"There is no greeting helo\. Did you mean hello\? Choose one of hello"):
        REGISTRY.load("helo")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere.at.All", "There is no greeting nowhere.at.All"),
        (f"{__name__}.Missing", "There is no greeting"),
        (f"{__name__}.Registry", "is not a subclass of"),
        (f"{__name__}.Mute", "has no method say"),
    ],
)
def test_a_missing_or_unsuitable_component_is_named(path: str, message: str) -> None:
    with pytest.raises(ComponentError) as failure:
        REGISTRY.load(path)
    assert message in str(failure.value)
    assert path in str(failure.value)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("def f(:\n", "SyntaxError"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("raise SystemExit(3)\n", "SystemExit"),
        ("import nowhere_at_all\n", "ModuleNotFoundError"),
        ("from os import no_such_name\n", "ImportError"),
    ],
)
def test_any_exception_of_the_import_names_the_component(
    source: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_component.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ComponentError, match=rf"The hook broken_component\.hook cannot be imported \({error}"):
        load_object("broken_component.hook", "hook")


def test_create_names_a_component_that_fails() -> None:
    assert REGISTRY.create("hello", "World").say() == "Hello World"
    with pytest.raises(ComponentError, match=r"The greeting hello cannot be created \(KeyError: 'name'\)"):
        REGISTRY.create("hello", "")


def test_paths_of_a_setting_are_a_list_or_a_string() -> None:
    assert component_paths("a.B; c.D;a.B;") == component_paths(["a.B", " c.D "]) == ["a.B", "c.D"]
    assert component_paths(None) == component_paths("") == []
    with pytest.raises(ComponentError, match="is not a list of import paths"):
        component_paths(SimpleNamespace())
