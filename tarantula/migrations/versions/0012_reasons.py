"""Store the reason of an interrupted item as a code with parameters, in place of an English sentence."""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

SENTENCES = (
    ("stopped", re.compile(r"Somebody stopped it\.")),
    ("deadline", re.compile(r"Its longest duration was over\.")),
    ("crashed", re.compile(r"Its processes died (?P<crashes>\d+) times; (?P<log>.*) says more\.", re.DOTALL)),
    ("ended_early", re.compile(r"Its collector ended before its time\.")),
    ("not_started", re.compile(r"Its collector could not be started; the log says why\.")),
    ("spider_closed", re.compile(r"The spider was closed: (?P<close_reason>.*)\.", re.DOTALL)),
)
"""The sentences of earlier versions. Any other is kept as it is, with the code ``text``."""


def upgrade() -> None:
    """Convert the sentences, and drop their column."""
    op.add_column("item", sa.Column("reason_code", sa.String(60)))
    op.add_column("item", sa.Column("reason_parameters", sa.JSON(none_as_null=True)))
    item = sa.table(
        "item",
        sa.column("id", sa.Integer),
        sa.column("reason", sa.Text),
        sa.column("reason_code", sa.String),
        sa.column("reason_parameters", sa.JSON),
    )
    connection = op.get_bind()
    for row in connection.execute(sa.select(item.c.id, item.c.reason).where(item.c.reason.is_not(None))).all():
        code, parameters = parse(row.reason)
        connection.execute(
            item.update().where(item.c.id == row.id).values(reason_code=code, reason_parameters=parameters)
        )
    op.drop_column("item", "reason")


def parse(sentence: str) -> tuple[str, dict[str, Any]]:
    """Return the code and the parameters of a sentence that an earlier version wrote."""
    for code, pattern in SENTENCES:
        if found := pattern.fullmatch(sentence):
            return code, {name: int(value) if name == "crashes" else value for name, value in found.groupdict().items()}
    return "text", {"text": sentence}
