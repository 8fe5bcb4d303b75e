"""Time zones by their names, and the one of this machine."""

from __future__ import annotations

import os
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from tarantula.core.messages import did_you_mean

LOCALTIME_FILE = Path("/etc/localtime")


def parse_zone(value: object) -> str:
    """Read the name of a time zone, as Europe/Lisbon; nothing means the installation's."""
    name = str(value or "").strip()
    if name and _named(name) is None:
        near = did_you_mean(name, available_timezones()) or " Write it as Europe/Lisbon."
        raise ValueError(f"{name[:40]!r} is not a time zone.{near}")
    return name


def zone_named(name: str) -> tzinfo:
    """Return the zone of that name; without one, the installation's, or that of this machine."""
    return _named(name or os.environ.get("TARANTULA_TIMEZONE", "")) or local_zone()


def local_zone() -> tzinfo:
    """Return the zone of this machine: by TZ if it names one, by its settings, or UTC."""
    if zone := _named(os.environ.get("TZ", "").lstrip(":")):
        return zone
    try:
        with LOCALTIME_FILE.open("rb") as rules:
            return ZoneInfo.from_file(rules, key="localtime")
    except (OSError, ValueError):
        return UTC


def _named(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
