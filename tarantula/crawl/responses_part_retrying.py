"""Whether a document that failed is tried once more."""

from __future__ import annotations

from dataclasses import replace

from tarantula.core.states import DocumentState
from tarantula.fetch.politeness import Politeness
from tarantula.items import CollectedDocument, FrontierEntry


def retry_entry(document: CollectedDocument, politeness: Politeness) -> FrontierEntry | None:
    """Make a document wait again if that may help; return the entry that then waits."""
    if not politeness.should_retry(document.state, document.entry.tries + 1):
        return None
    document.reason = f"To be tried again: {document.reason}"
    document.state = DocumentState.WAITING
    document.exchange = None
    document.links = []
    return replace(document.entry, tries=document.entry.tries + 1)
