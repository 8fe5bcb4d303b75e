"""From a template to an answer: whatever stands in it is text, and it may load nothing but what is ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import Request
from starlette.responses import Response
from starlette.templating import Jinja2Templates

from tarantula import __version__
from tarantula.web.format_part_figures import format_moment, format_number
from tarantula.web.i18n import LANGUAGES, _, language
from tarantula.web.i18n_part_retelling import translate_sentence

PLAIN_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
templates = Jinja2Templates(Path(__file__).parent.parent / "templates")
templates.env.globals.update(
    _=_, number=format_number, moment=format_moment, retold=translate_sentence, version=__version__
)


def render(request: Request, template: str, context: dict[str, Any], status: int = 200) -> Response:
    """Return a page."""
    here = f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
    others = {
        code: (called, f"/language/{code}?back={quote(here, safe='')}")
        for code, called in LANGUAGES.items()
        if code != language()
    }
    told = {**context, "language": language(), "others": others, "person": request.state.person}
    return templates.TemplateResponse(request, template, told, status, {"Content-Security-Policy": PLAIN_PAGE_POLICY})
