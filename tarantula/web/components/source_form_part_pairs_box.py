"""Names, and what stands for each, one on each line."""

from __future__ import annotations

from collections.abc import Mapping

from tarantula.core.errors import TarantulaError
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.components.forms_part_dialogs import text_area
from tarantula.web.i18n import _


class PairsField:
    """Lines such as ``name=value``, for one field of a source."""

    def __init__(self, field: str, label: str, help_: str, sign: str, values: Mapping[str, str]) -> None:
        self._field, self._sign = field, sign
        written = "\n".join(f"{name}{sign}{value}" for name, value in values.items())
        self.control = text_area(label, written).props(f'aria-describedby="help-{field}"')
        text_element("p", help_, "help").props(f'id="help-{field}"')

    def values(self) -> dict[str, str]:
        """Return what stands there, or say which line is none."""
        found = {}
        for number, line in enumerate(str(self.control.value or "").splitlines(), 1):
            name, sign, value = (part.strip() for part in line.partition(self._sign.strip()))
            if sign and name:
                found[name] = value
            elif line.strip():
                # What it says may be a secret: it is not said again.
                complaint = f"Line {number} is not what is wanted here. Write it as name{self._sign}value."
                raise TarantulaError(complaint, fields={self._field: complaint})
        return found


def variables_field(values: Mapping[str, str]) -> PairsField:
    """Return where variables are written."""
    words = _("They stand where the address, a step or what is sent has {name}. Only you and administrators see them.")
    return PairsField("variables", _("Variables, one on each line: name=value"), words, "=", values)
