"""What is sent to a server: how it is asked, headers, a body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tarantula.streams.sources.request import LONGEST_BODY, RequestMethod
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.components.forms import FormControl
from tarantula.web.components.forms_part_dialogs import select_field, text_area
from tarantula.web.components.source_form_part_pairs_box import PairsField
from tarantula.web.i18n import _, mark

METHOD_LABELS = {
    RequestMethod.GET: mark("GET: a page is asked for"),
    RequestMethod.POST: mark("POST: something is sent"),
}
EMPTY_REQUEST: Mapping[str, Any] = {"method": RequestMethod.GET, "headers": {}, "body": ""}


class RequestForm:
    """The fields of a source that say what is sent."""

    def __init__(self, values: Mapping[str, Any] = EMPTY_REQUEST) -> None:
        methods = {str(method): _(words) for method, words in METHOD_LABELS.items()}
        self._method = select_field(_("How the server is asked"), methods, str(values["method"]))
        self._headers = PairsField(
            "headers",
            _("Headers, one on each line: Name: value"),
            _("What the server is told beside. A secret is written as {key}, and is a variable."),
            ": ",
            values["headers"],
        )
        self._body = text_area(_("What is sent"), values["body"])
        self._body.props(f'input-class=font-mono maxlength={LONGEST_BODY} aria-describedby="help-body"')
        text_element("p", _("With POST: JSON, a form as town=Lisboa&unit=C, or XML."), "help").props('id="help-body"')

    @property
    def controls(self) -> dict[str, FormControl]:
        """Return where each field is written."""
        return {"method": self._method, "headers": self._headers.control, "body": self._body}

    def values(self) -> dict[str, Any]:
        """Return the fields as the model reads them."""
        body = str(self._body.value or "").strip()
        return {"method": str(self._method.value), "headers": self._headers.values(), "body": body}
