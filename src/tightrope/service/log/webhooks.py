"""Webhooks in the database: who is told of what, how far each has come in every log, and the messages that are to be delivered.

A message is written in the transaction that says that its event was looked at, so that a process that is killed loses none; an attempt to
deliver it is noted before it is made, so that none is made without end.
"""

import base64
import fnmatch
import json
import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from ..domain.times import MICROSECONDS
from .tables import deliveries, events, webhook_watches, webhooks
from .tables import experiments as table_of_experiments

WAITING_STATUS, DELIVERED_STATUS, FAILED_STATUS = "waiting", "delivered", "failed"
RETRY_PERIOD = 24 * 3600 * MICROSECONDS  # for which a message is tried
SECRET_PREFIX = "whsec_"
X = table_of_experiments.c
W, D, P = webhooks.c, deliveries.c, webhook_watches.c


class Webhook(NamedTuple):
    """A row of the table. events: kinds of messages. experiments: names and patterns of those that it is for; None: all."""

    id: int
    url: str
    events: tuple[str, ...]
    experiments: tuple[str, ...] | None
    secret: bytes
    note: str
    created: int

    def covers(self, experiment: str) -> bool:
        return self.experiments is None or any(fnmatch.fnmatchcase(experiment, one) for one in self.experiments)


class Delivery(NamedTuple):
    """A message for a webhook, and what became of it. Times are microseconds since 1970. due: of the next attempt. until: no attempt after
    it. error: of the last attempt, a sentence."""

    id: int
    message: str
    webhook: int
    experiment: str
    event: str
    body: bytes
    created: int
    due: int
    until: int
    attempts: int
    status: str
    error: str | None


def all_webhooks(connection: Connection) -> list[Webhook]:
    return [_webhook(row) for row in connection.execute(sa.select(webhooks).order_by(W.id))]


def webhook_of(connection: Connection, id: int) -> Webhook | None:
    row = connection.execute(sa.select(webhooks).where(W.id == id)).one_or_none()
    return None if row is None else _webhook(row)


def _webhook(row: Any) -> Webhook:
    experiments = None if row.experiments is None else tuple(json.loads(row.experiments))
    return Webhook(*row)._replace(events=tuple(json.loads(row.events)), experiments=experiments)


def create(
    connection: Connection, now: int, url: str, events: Sequence[str], experiments: Sequence[str] | None, note: str
) -> Webhook:  # fmt: skip
    secret = secrets.token_bytes(32)
    inserted = connection.execute(sa.insert(webhooks).values(
        url=url, events=json.dumps(list(events)), experiments=None if experiments is None else json.dumps(list(experiments)), secret=secret,
        note=note, created=now))  # fmt: skip
    hook = Webhook(
        int(inserted.inserted_primary_key[0]), url, tuple(events),  # type: ignore[index]
        None if experiments is None else tuple(experiments), secret, note, now,
    )  # fmt: skip
    for row in connection.execute(sa.select(X.id, X.name, X.seq)).all():
        if hook.covers(row.name):
            connection.execute(sa.insert(webhook_watches).values(webhook=hook.id, experiment=row.id, seq=row.seq, state=""))
    return hook


def shown_secret(secret: bytes) -> str:
    return SECRET_PREFIX + base64.b64encode(secret).decode()


def pass_over(connection: Connection, experiment: int, name: str, seq: int) -> None:
    """Tell nobody of the events of an experiment until now: they happened elsewhere."""
    for hook in all_webhooks(connection):
        if hook.covers(name):
            connection.execute(sa.insert(webhook_watches).values(webhook=hook.id, experiment=experiment, seq=seq, state=""))


def remove(connection: Connection, id: int) -> None:
    connection.execute(sa.delete(deliveries).where(D.webhook == id))
    connection.execute(sa.delete(webhook_watches).where(P.webhook == id))
    connection.execute(sa.delete(webhooks).where(W.id == id))


# Watching ------------------------------------------------------------------------------------------------------------------


def watch_of(connection: Connection, webhook: int, experiment: int) -> tuple[int, str] | None:
    """The event until which a log was looked at for a webhook, and what was told; None where it is new."""
    row = connection.execute(sa.select(P.seq, P.state).where(P.webhook == webhook, P.experiment == experiment)).one_or_none()
    return None if row is None else (row.seq, row.state)


def move_watch(connection: Connection, webhook: int, experiment: int, before: tuple[int, str] | None, after: tuple[int, str]) -> bool:
    """Note until where a log was looked at. False where another process was there first, or the webhook is gone."""
    seq, state = after
    if before is None:
        try:
            with connection.begin_nested():
                connection.execute(sa.insert(webhook_watches).values(webhook=webhook, experiment=experiment, seq=seq, state=state))
        except sa.exc.IntegrityError:
            return False
        return True
    where = sa.and_(P.webhook == webhook, P.experiment == experiment, P.seq == before[0], P.state == before[1])
    return connection.execute(sa.update(webhook_watches).where(where).values(seq=seq, state=state)).rowcount == 1


def heads(connection: Connection) -> dict[int, int]:
    return {row.id: row.seq for row in connection.execute(sa.select(X.id, X.seq))}


def unread_archived(connection: Connection, hooks: Sequence[Webhook]) -> list[str]:
    """Experiments that have ended and whose logs were not looked at until their end: no process takes these by itself."""
    last = sa.select(events.c.kind).where(events.c.experiment == X.id, events.c.seq == X.seq).scalar_subquery()
    ended = connection.execute(sa.select(X.id, X.name, X.seq).where(last == "archived")).all()
    places = {(row.webhook, row.experiment): row.seq for row in connection.execute(sa.select(P.webhook, P.experiment, P.seq))}
    return [row.name for row in ended if any(hook.covers(row.name) and places.get((hook.id, row.id), 0) < row.seq for hook in hooks)]


# Messages ------------------------------------------------------------------------------------------------------------------


def new_message_id() -> str:
    return "msg_" + secrets.token_hex(16)


def put(
    connection: Connection, webhook: int, message: str, experiment: str, event: str, body: bytes, now: int, until: int
) -> None:  # fmt: skip
    connection.execute(sa.insert(deliveries).values(
        message=message, webhook=webhook, experiment=experiment, event=event, body=body, created=now, due=now, until=until, attempts=0,
        status=WAITING_STATUS))  # fmt: skip


def due(connection: Connection, now: int, limit: int) -> list[Delivery]:
    first = sa.select(sa.func.min(D.id)).where(D.status == WAITING_STATUS, D.due <= now).group_by(D.webhook).limit(limit)
    return [Delivery(*row) for row in connection.execute(sa.select(deliveries).where(D.id.in_(first)).order_by(D.id))]


def claim(connection: Connection, delivery: Delivery, until: int) -> bool:
    """Note that an attempt is made; nobody else makes one before a time. False where somebody else was there first."""
    where = sa.and_(D.id == delivery.id, D.due == delivery.due, D.attempts == delivery.attempts, D.status == WAITING_STATUS)
    return connection.execute(sa.update(deliveries).where(where).values(due=until, attempts=delivery.attempts + 1)).rowcount == 1


def settle(connection: Connection, id: int, status: str, due: int, error: str | None) -> None:
    """Note what became of an attempt. due: of the next one, where the message waits."""
    connection.execute(sa.update(deliveries).where(D.id == id).values(status=status, due=due, error=error))


def retry(connection: Connection, webhook: int, now: int, until: int) -> int:
    """Let failed messages of a webhook wait for another attempt. Returns how many."""
    where = sa.and_(D.webhook == webhook, D.status == FAILED_STATUS)
    return connection.execute(sa.update(deliveries).where(where).values(status=WAITING_STATUS, due=now, until=until)).rowcount


def forget(connection: Connection, before: int) -> None:
    connection.execute(sa.delete(deliveries).where(D.status != WAITING_STATUS, D.created < before))


def last_deliveries(connection: Connection, webhook: int, limit: int) -> list[Delivery]:
    query = sa.select(deliveries).where(D.webhook == webhook).order_by(D.id.desc()).limit(limit)
    return [Delivery(*row) for row in connection.execute(query)]


def last_error(connection: Connection, webhook: int) -> str | None:
    """Why the last message of a webhook that has not arrived did not; None where all have."""
    query = (
        sa.select(D.error).where(D.webhook == webhook, D.status != DELIVERED_STATUS, D.error.is_not(None)).order_by(D.id.desc()).limit(1)
    )
    return connection.execute(query).scalar_one_or_none()


def counts(connection: Connection) -> dict[int, dict[str, int]]:
    query = sa.select(D.webhook, D.status, sa.func.count()).where(D.status != DELIVERED_STATUS).group_by(D.webhook, D.status)
    numbers: dict[int, dict[str, int]] = {}
    for webhook, status, number in connection.execute(query):
        numbers.setdefault(webhook, {})[status] = number
    return numbers
