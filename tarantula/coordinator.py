"""The life of an item: how it begins, and how it ends."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula import catalogue
from tarantula.browser import check_browser
from tarantula.collection import Collection
from tarantula.config import Config
from tarantula.db import open_database
from tarantula.errors import TarantulaError
from tarantula.frontier.strategies import strategy
from tarantula.listings import find_item
from tarantula.models import Document, Item
from tarantula.new_items import create_item
from tarantula.own_components import check_components
from tarantula.publications import registry
from tarantula.publications.config import PublicationConfig
from tarantula.scope.scope import Scope
from tarantula.states import ItemState, check_move
from tarantula.store.index import index_item
from tarantula.store.read import repair

logger = logging.getLogger(__name__)


def begin_item(installation: Config, name: str, urn: str | None = None) -> Collection:
    """Begin a new item of a publication, or go on with the one named *urn*."""
    installation.make_home()
    database = open_database(installation)
    with database.session() as session:
        publication = registry.get(session, name)
        item = find_item(session, urn) if urn else create_item(session, publication, datetime.now(UTC))
        _hold(session, item.urn)
        if urn:
            _mend_files(session, item, installation.items / item.urn)
        _start(item)
        config = PublicationConfig.model_validate(item.configuration)
        _extend(item, config)
        scope = Scope.of(config, catalogue.extensions(session), catalogue.wanted(session, config))
        collection = Collection(installation, database, config, scope, item.urn, item.id, item.deadline)
        collection.join(session.connection())
    collection.directory.mkdir(parents=True, exist_ok=True)
    return collection


def prepare_item(installation: Config, name: str) -> str:
    """Make a new item for collectors that are still to be started; return its urn."""
    installation.make_home()
    with open_database(installation) as database, database.session() as session:
        urn = create_item(session, registry.get(session, name), datetime.now(UTC)).urn
    (installation.items / urn).mkdir(parents=True, exist_ok=True)
    return urn


def check_can_begin(installation: Config, name: str, urn: str | None = None) -> None:
    """Say why a collection could not begin, before anything is started."""
    installation.make_home()
    with open_database(installation) as database, database.session() as session:
        config = registry.config_of(registry.get(session, name))
        if urn:
            _check_can_collect(find_item(session, urn))
    strategy(config.strategy)
    if config.render:
        check_browser()
    check_components(config.settings)


def end_item(collection: Collection, reason: str | None) -> None:
    """Store what is left and end the item: archived, or interrupted with a *reason*."""
    collection.interruption = reason
    try:
        collection.end()
        if _leave(collection):
            _finish(collection, reason)
    except TarantulaError as error:
        # Its rows say that it is being collected: it can be resumed like one whose collector was killed.
        collection.trouble = collection.trouble or error
        collection.interruption = collection.interruption or str(error)
        logger.error("%s", error)
    finally:
        collection.database.close()


def _leave(collection: Collection) -> bool:
    """Leave the item to its other collectors; say whether there are none."""
    with collection.database.session() as session:
        _hold(session, collection.urn)
        return collection.leave(session.connection())


def _hold(session: Session, urn: str) -> None:
    """Keep others from joining or leaving the item: of two that leave at once, one must see that it is the last."""
    session.execute(select(Item.id).where(Item.urn == urn).with_for_update())


def _finish(collection: Collection, reason: str | None) -> None:
    with collection.database.reading() as session:
        index_item(session, find_item(session, collection.urn), collection.directory)
        if reason is None and collection.work_left(session.connection()):
            collection.interruption = reason = "Its collector ended before its time."
    with collection.database.session() as session:
        _hold(session, collection.urn)
        item = find_item(session, collection.urn)
        if item.state == ItemState.COLLECTING and not collection.others(session.connection()):
            _end(item, reason)
        else:
            logger.info("Item %s is another collector's to end.", item.urn)


def give_up(collection: Collection | None) -> None:
    """End an item whose collector could not even be put together."""
    if collection is not None and collection.interruption is None:
        end_item(collection, "Its collector could not be started; the log says why.")


def _end(item: Item, reason: str | None) -> None:
    new = ItemState.INTERRUPTED if reason else ItemState.ARCHIVED
    check_move(item.urn, ItemState(item.state), new)
    item.state = new
    item.reason = reason
    item.finished_at = datetime.now(UTC)


def _check_can_collect(item: Item) -> None:
    # An item whose collector was killed is still being collected, says its row.
    if item.state != ItemState.COLLECTING:
        check_move(item.urn, ItemState(item.state), ItemState.COLLECTING)


def _start(item: Item) -> None:
    _check_can_collect(item)
    item.state = ItemState.COLLECTING
    item.started_at = item.started_at or datetime.now(UTC)
    item.finished_at = None
    item.reason = None


def _extend(item: Item, config: PublicationConfig) -> None:
    """Give an item that is resumed after its deadline as long as a new one has."""
    now = datetime.now(UTC)
    if item.deadline is not None and item.deadline <= now and config.max_duration:
        item.deadline = now + timedelta(seconds=config.max_duration)


def _mend_files(session: Session, item: Item, directory: Path) -> None:
    """Cut the broken record with which a file ends when its collector was killed."""
    ends = dict(
        session.execute(
            select(Document.warc, func.max(Document.warc_offset + Document.warc_length))
            .where(Document.item_id == item.id, Document.warc.is_not(None))
            .group_by(Document.warc)
        ).all()
    )
    for path in sorted((directory / "archive").glob("*.warc.gz")):
        if cut := repair(path, ends.get(path.name) or 0):
            logger.warning("%s ended in a broken record; %d bytes were cut.", path.name, cut)
