"""The database schema: every table, re-exported from ``tarantula.tables``."""

from __future__ import annotations

from tarantula.core.columns import Base, UtcDateTime
from tarantula.tables.accounts import Account, AuditEntry, FailedLogin, LoginSession, Token
from tarantula.tables.documents import TRIED, UNDER_WAY, Document, InheritedRecord, JournalEntry, LinkRow, Visit
from tarantula.tables.publications import (
    Collector,
    Decision,
    DocumentType,
    Item,
    Profile,
    Publication,
    Server,
    ServerSetting,
)
from tarantula.tables.search import Barrel, LinkWeight, ReadText, SearchCount, SkippedText
from tarantula.tables.storage import BodyDamage, BodyProblem, DrainedMachine, Home, WarcFile, WarcFileState, Withholding
from tarantula.tables.streams import (
    Alert,
    AlertMemory,
    Event,
    Firing,
    Forgotten,
    Level,
    PutAside,
    Series,
    Source,
    SourceState,
    StaleLevel,
    View,
)

__all__ = [
    "TRIED",
    "UNDER_WAY",
    "Account",
    "Alert",
    "AlertMemory",
    "AuditEntry",
    "Barrel",
    "Base",
    "BodyDamage",
    "BodyProblem",
    "Collector",
    "Decision",
    "Document",
    "DocumentType",
    "DrainedMachine",
    "Event",
    "FailedLogin",
    "Firing",
    "Forgotten",
    "Home",
    "InheritedRecord",
    "Item",
    "JournalEntry",
    "Level",
    "LinkRow",
    "LinkWeight",
    "LoginSession",
    "Profile",
    "Publication",
    "PutAside",
    "ReadText",
    "SearchCount",
    "Series",
    "Server",
    "ServerSetting",
    "SkippedText",
    "Source",
    "SourceState",
    "StaleLevel",
    "Token",
    "UtcDateTime",
    "View",
    "Visit",
    "WarcFile",
    "WarcFileState",
    "Withholding",
]
