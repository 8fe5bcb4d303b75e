"""What is sent to a server: how it is asked, headers, a body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tarantula.streams.sources.request import LONGEST_BODY, Method
from tarantula.web.components.elements_part_style import tagged
from tarantula.web.components.forms import Control
from tarantula.web.components.forms_part_dialogs import choice, lines_box
from tarantula.web.components.source_form_part_pairs_box import PairsBox
from tarantula.web.i18n import _, mark

METHODS = {Method.GET: mark("GET: a page is asked for"), Method.POST: mark("POST: something is sent")}
NOTHING: Mapping[str, Any] = {"method": Method.GET, "headers": {}, "body": ""}


class SentForm:
    """The fields of a source that say what is sent."""

    def __init__(self, values: Mapping[str, Any] = NOTHING) -> None:
        methods = {str(method): _(words) for method, words in METHODS.items()}
        self._method = choice(_("How the server is asked"), methods, str(values["method"]))
        self._headers = PairsBox(
            "headers",
            _("Headers, one on each line: Name: value"),
            _("What the server is told beside. A secret is written as {key}, and is a variable."),
            ": ",
            values["headers"],
        )
        self._body = lines_box(_("What is sent"), values["body"])
        self._body.props(f'input-class=font-mono maxlength={LONGEST_BODY} aria-describedby="help-body"')
        tagged("p", _("With POST: JSON, a form as town=Lisboa&unit=C, or XML."), "help").props('id="help-body"')

    @property
    def controls(self) -> dict[str, Control]:
        """Return where each field is written."""
        return {"method": self._method, "headers": self._headers.control, "body": self._body}

    def values(self) -> dict[str, Any]:
        """Return the fields as the model reads them."""
        body = str(self._body.value or "").strip()
        return {"method": str(self._method.value), "headers": self._headers.values(), "body": body}
