"""Components by name or import path: scope rules, header checks, strategies, stream adapters, exporters, hooks.

Each kind of component has one `Registry`. Built-in components have a name; any other component is given by its import
path, in a setting or in the configuration of a publication.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import did_you_mean

T = TypeVar("T")


class ComponentError(TarantulaError):
    """A component cannot be imported, created or used; the message names it."""


def load_object(path: str, kind: str) -> Any:
    """Import the object at *path*; raise `ComponentError`, which names the *kind* and the path, on any failure."""
    module_name, _, attribute = path.rpartition(".")
    if not module_name:
        raise _missing(path, kind)
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            raise _missing(path, kind, error) from error
        raise ComponentError(
            "The {kind} {path} cannot be imported ({error_type}: {error}). Correct its module.",
            kind=kind,
            path=path,
            error_type=type(error).__name__,
            error=error,
        ) from error
    try:
        return getattr(module, attribute)
    except AttributeError as error:
        raise _missing(path, kind, error) from error


def component_paths(value: object) -> list[str]:
    """Return the import paths in a setting, each once: it is a list, or a string separated by semicolons."""
    parts = value.split(";") if isinstance(value, str) else value or []
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise ComponentError(
            "{value!r} is not a list of import paths. Write it as package.module.Class.", value=str(value)[:80]
        )
    return list(dict.fromkeys(path for part in parts if (path := part.strip())))


def named_component_paths(value: object, kind: str) -> dict[str, str]:
    """Return the import paths in a setting by name: each entry is ``name=package.module.Class``."""
    paths: dict[str, str] = {}
    for entry in component_paths(value):
        name, _, path = (part.strip() for part in entry.partition("="))
        if not name or not path:
            raise ComponentError(
                "{entry!r} names no {kind}. Write it as name=package.module.Class.", entry=entry[:80], kind=kind
            )
        paths[name] = path
    return paths


class Registry(Generic[T]):
    """Components of one kind: built-in ones by name, all others by import path.

    The value of a built-in component may be its import path; it is then imported at its first use.
    """

    def __init__(
        self,
        kind: str,
        components: Mapping[str, T | str] | None = None,
        *,
        base: type | None = None,
        methods: tuple[str, ...] = (),
    ) -> None:
        """Require components to be subclasses of *base* and to have *methods*."""
        self.kind = kind
        self._components = dict(components or {})
        self._base = base
        self._methods = methods

    def __iter__(self) -> Iterator[str]:
        return iter(self._components)

    def __len__(self) -> int:
        return len(self._components)

    def __contains__(self, name: object) -> bool:
        return name in self._components

    def extended(self, paths: Mapping[str, str]) -> Registry[T]:
        """Return a registry with more names, each for an import path."""
        return Registry(self.kind, {**self._components, **paths}, base=self._base, methods=self._methods)

    def load(self, name: str) -> T:
        """Return the component with that name or import path; raise `ComponentError` if it is missing or unsuitable."""
        component: Any = self._components.get(name)
        if component is None and "." not in name:
            names = f"Choose one of {', '.join(self._components)}, or give" if self._components else "Give"
            near = did_you_mean(name, self._components)
            raise ComponentError(
                "There is no {kind} {name}.{hint} {names} an import path, such as package.module.Class.",
                kind=self.kind,
                name=name,
                hint=near,
                names=names,
            )
        if component is None or isinstance(component, str):
            component = load_object(component or name, self.kind)
            self._check(name, component)
            if name in self._components:
                self._components[name] = component
        return component  # type: ignore[no-any-return]  # Checked at run time.

    def create(self, name: str, *arguments: Any) -> Any:
        """Load a component and call it with *arguments*; raise `ComponentError` if it fails."""
        component: Any = self.load(name)
        try:
            return component(*arguments)
        except TarantulaError:
            raise
        except Exception as error:
            raise ComponentError(
                "The {kind} {name} cannot be created ({error_type}: {error}). Correct its constructor.",
                kind=self.kind,
                name=name,
                error_type=type(error).__name__,
                error=error,
            ) from error

    def _check(self, name: str, component: Any) -> None:
        base = self._base
        if base is not None and not (isinstance(component, type) and issubclass(component, base)):
            raise ComponentError(
                "{name} is not a subclass of {module}.{base}.",
                name=name,
                module=base.__module__,
                base=base.__qualname__,
            )
        for method in self._methods:
            if not callable(getattr(component, method, None)):
                raise ComponentError(
                    "The {kind} {name} has no method {method}.", kind=self.kind, name=name, method=method
                )


def _missing(path: str, kind: str, error: Exception | SystemExit | None = None) -> ComponentError:
    details = f" ({error})" if error else ""
    return ComponentError(
        "There is no {kind} {path}{details}. Give its import path, such as package.module.Class.",
        kind=kind,
        path=path,
        details=details,
    )
