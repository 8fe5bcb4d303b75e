"""One value of a source, as it is described."""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, model_validator

from tarantula.core.errors import TarantulaError
from tarantula.publications.fields import TextField
from tarantula.streams.kinds import Aggregation, ValueKind
from tarantula.streams.sources.config_part_steps import STORED_CONTEXT

FROZEN_MODEL = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
_KEY = re.compile(r"[a-z][a-z0-9_]{0,59}")


def _check_key(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise ValueError(
            f"{key[:80]!r} is not the key of a field. Write small letters, digits and _, beginning with a letter."
        )
    return key


class SourceField(BaseModel):
    """One value that a source has, or that each of its rows has."""

    model_config = FROZEN_MODEL

    key: Annotated[str, AfterValidator(_check_key)]
    """By which it is known: small letters, digits and _."""
    title: TextField = ""
    """What people call it."""
    kind: ValueKind | None = None
    """What it is; told from its texts unless said."""
    unit: str = ""
    """In which it is kept: a currency as EUR, a unit of measure as km/h."""
    aggregation: Aggregation | None = None
    """Which value stands for many; as usual for its kind unless said."""
    place: dict[str, Any] = Field(default_factory=dict)
    """Where it is, as the adapter wants it told."""

    @model_validator(mode="after")
    def _has_a_unit_that_is_known(self, info: ValidationInfo) -> Self:
        from tarantula.streams.values import check_unit

        if self.unit and self.kind is not None and info.context != STORED_CONTEXT:
            try:
                check_unit(self.unit, self.kind)
            except TarantulaError as error:
                raise ValueError(str(error)) from None
        return self
