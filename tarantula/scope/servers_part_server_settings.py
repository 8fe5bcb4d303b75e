"""What was decided for one server, apart from the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from tarantula.publications.fields import at_least


class ServerSettings(BaseModel):
    """What is ``None`` is as the publication has it."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    depth: Annotated[int, AfterValidator(at_least(0, "The depth"))] | None = None
    """Links from the base document to the farthest one of this server."""
    documents: Annotated[int, AfterValidator(at_least(0, "The number of documents"))] | None = None
    """How many documents of this server are asked for in one item."""
    delay: Annotated[float, AfterValidator(at_least(0, "The delay"))] | None = None
    """Seconds between two visits to this server."""
    excluded: bool | None = None
    """Whether this server is left out."""

    def over(self, other: ServerSettings) -> ServerSettings:
        """Return these settings, and *other* where they say nothing."""
        return ServerSettings(**{**other.model_dump(exclude_none=True), **self.model_dump(exclude_none=True)})


SettingsByServer = Mapping[str, ServerSettings]
