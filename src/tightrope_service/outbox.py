"""The outbox of webhooks: messages are rows written in their event's transaction. Also: which
addresses a webhook may have."""

import base64
import fnmatch
import ipaddress
import json
import secrets
import socket
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import sqlalchemy as sa
from pydantic_core import to_json
from sqlalchemy.engine import Connection

from . import JsonObject
from .certificate import Notice
from .errors import MICROSECONDS, Refused, timestamp
from .log import outbox, webhook_told, webhooks

WAITING_STATUS, DELIVERED_STATUS, FAILED_STATUS = "waiting", "delivered", "failed"
RETRY_PERIOD = 24 * 3600 * MICROSECONDS  # for which a message is tried
SECRET_PREFIX = "whsec_"
W, M, T = webhooks.c, outbox.c, webhook_told.c


class Webhook(NamedTuple):
    """A row of the table. events: kinds of messages. experiments: names and patterns of those that
    it is for; None: all."""

    id: int
    url: str
    events: tuple[str, ...]
    experiments: tuple[str, ...] | None
    secret: bytes
    note: str
    created: int

    def covers(self, experiment: str) -> bool:
        return self.experiments is None or any(
            fnmatch.fnmatchcase(experiment, one) for one in self.experiments
        )


class Delivery(NamedTuple):
    """A message for a webhook, and what became of it. Times are microseconds since 1970. due: of
    the next attempt. until: no attempt after it. error: of the last attempt, a sentence."""

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


def described(hook: Webhook, counts: dict[int, dict[str, int]]) -> JsonObject:
    mine = counts.get(hook.id, {})
    return {
        "id": hook.id,
        "url": hook.url,
        "events": list(hook.events),
        "experiments": None if hook.experiments is None else list(hook.experiments),
        "note": hook.note,
        "created": timestamp(hook.created),
        "waiting": mine.get(WAITING_STATUS, 0),
        "failed": mine.get(FAILED_STATUS, 0),
    }


def covering(connection: Connection, experiment: str) -> list[Webhook]:
    return [hook for hook in all_webhooks(connection) if hook.covers(experiment)]


def webhook_of(connection: Connection, id: int) -> Webhook | None:
    row = connection.execute(sa.select(webhooks).where(W.id == id)).one_or_none()
    return None if row is None else _webhook(row)


def _webhook(row: Any) -> Webhook:
    return Webhook(
        row.id,
        row.url,
        tuple(json.loads(row.events)),
        None if row.experiments is None else tuple(json.loads(row.experiments)),
        row.secret,
        row.note,
        row.created,
    )


def create(
    connection: Connection,
    now: int,
    url: str,
    events: Sequence[str],
    experiments: Sequence[str] | None,
    note: str,
) -> Webhook:
    inserted = connection.execute(
        sa.insert(webhooks).values(
            url=url,
            events=json.dumps(list(events)),
            experiments=None if experiments is None else json.dumps(list(experiments)),
            secret=secrets.token_bytes(32),
            note=note,
            created=now,
            busy_until=0,
        )
    )
    hook = webhook_of(connection, int(inserted.inserted_primary_key[0]))  # type: ignore[index]
    assert hook is not None
    return hook


def shown_secret(secret: bytes) -> str:
    return SECRET_PREFIX + base64.b64encode(secret).decode()


def remove(connection: Connection, id: int) -> None:
    connection.execute(sa.delete(outbox).where(M.webhook == id))
    connection.execute(sa.delete(webhook_told).where(T.webhook == id))
    connection.execute(sa.delete(webhooks).where(W.id == id))


# Telling ------------------------------------------------------------------------------------------


def enqueue(connection: Connection, now: int, experiment: str, notice: Notice) -> None:
    for hook in covering(connection, experiment):
        put(connection, now, hook, experiment, notice)


def enqueue_lasting(
    connection: Connection,
    now: int,
    row: int,
    experiment: str,
    scope: str,
    holding: Mapping[str, Notice],
) -> None:
    """Write messages of what holds now, for every webhook once until it has ended. row: of the
    experiment. scope: what is looked at.
    holding: notices by what they are about."""
    for hook in covering(connection, experiment):
        key = {"webhook": hook.id, "experiment": row, "scope": scope}
        mine = sa.and_(T.webhook == hook.id, T.experiment == row, T.scope == scope)
        told = set(connection.scalars(sa.select(T.about).where(mine)))
        for about in told - holding.keys():
            connection.execute(sa.delete(webhook_told).where(mine, T.about == about))
        for about, notice in holding.items():
            if about not in told:
                connection.execute(sa.insert(webhook_told).values(about=about, **key))
                put(connection, now, hook, experiment, notice)


def put(connection: Connection, now: int, hook: Webhook, experiment: str, notice: Notice) -> None:
    if notice.kind not in hook.events:
        return
    connection.execute(
        sa.insert(outbox).values(
            message="msg_" + secrets.token_hex(16),
            webhook=hook.id,
            experiment=experiment,
            event=notice.kind,
            body=to_json(
                {
                    "type": notice.kind,
                    "timestamp": timestamp(notice.time),
                    "data": {
                        "experiment": experiment,
                        "event": notice.seq,
                        "what": notice.what,
                        "board": None,
                        **notice.data,
                    },
                },
                inf_nan_mode="null",
            ),
            created=now,
            due=now,
            until=now + RETRY_PERIOD,
            attempts=0,
            status=WAITING_STATUS,
        )
    )


# Delivering ---------------------------------------------------------------------------------------


def ready(connection: Connection, now: int) -> list[Delivery]:
    """The first message that is due of every webhook that nobody sends to."""
    first = (
        sa.select(sa.func.min(M.id))
        .join(webhooks, W.id == M.webhook)
        .where(M.status == WAITING_STATUS, M.due <= now, W.busy_until <= now)
        .group_by(M.webhook)
    )
    return [
        Delivery(*row)
        for row in connection.execute(sa.select(outbox).where(M.id.in_(first)).order_by(M.id))
    ]


def claim(connection: Connection, delivery: Delivery, now: int, until: int) -> Webhook | None:
    """Note that an attempt is made: no process sends to the webhook before a time. None where
    another one was there first."""
    free = sa.select(webhooks).where(W.id == delivery.webhook, W.busy_until <= now)
    row = connection.execute(free.with_for_update()).one_or_none()
    attempt = (
        sa.update(outbox)
        .where(
            sa.and_(
                M.id == delivery.id, M.status == WAITING_STATUS, M.attempts == delivery.attempts
            )
        )
        .values(attempts=delivery.attempts + 1, body=delivery.body)
    )
    if row is None or connection.execute(attempt).rowcount != 1:
        return None
    connection.execute(sa.update(webhooks).where(W.id == row.id).values(busy_until=until))
    return _webhook(row)


def settle(
    connection: Connection,
    delivery: Delivery,
    claimed: int,
    status: str,
    due: int,
    error: str | None,
) -> None:
    """Note what became of an attempt. claimed: until when. due: of the next one, where the message
    waits."""
    connection.execute(
        sa.update(outbox).where(M.id == delivery.id).values(status=status, due=due, error=error)
    )
    connection.execute(
        sa.update(webhooks)
        .where(W.id == delivery.webhook, W.busy_until == claimed)
        .values(busy_until=0)
    )


def retry(connection: Connection, webhook: int, now: int, until: int) -> int:
    """Let failed messages of a webhook wait for another attempt. Returns how many."""
    return connection.execute(
        sa.update(outbox)
        .where(M.webhook == webhook, M.status == FAILED_STATUS)
        .values(status=WAITING_STATUS, due=now, until=until)
    ).rowcount


def forget(connection: Connection, before: int) -> None:
    connection.execute(sa.delete(outbox).where(M.status != WAITING_STATUS, M.created < before))


def last_deliveries(connection: Connection, webhook: int, limit: int) -> list[Delivery]:
    return [
        Delivery(*row)
        for row in connection.execute(
            sa.select(outbox).where(M.webhook == webhook).order_by(M.id.desc()).limit(limit)
        )
    ]


def last_error(connection: Connection, webhook: int) -> str | None:
    """Why the last message of a webhook that has not arrived did not; None where all have."""
    return connection.execute(
        sa.select(M.error)
        .where(M.webhook == webhook, M.status != DELIVERED_STATUS, M.error.is_not(None))
        .order_by(M.id.desc())
        .limit(1)
    ).scalar_one_or_none()


def counts(connection: Connection) -> dict[int, dict[str, int]]:
    query = sa.select(M.webhook, M.status, sa.func.count()).where(M.status != DELIVERED_STATUS)
    numbers: dict[int, dict[str, int]] = {}
    for webhook, status, number in connection.execute(query.group_by(M.webhook, M.status)):
        numbers.setdefault(webhook, {})[status] = number
    return numbers


# Addresses that webhooks may be delivered to: those of the public internet, and networks that the
# operator names.


Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Place = tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]  # what a socket connects to
AddressInfo = tuple[
    socket.AddressFamily, socket.SocketKind, int, str, Place
]  # as `getaddrinfo` answers
TRANSLATED = tuple(
    ipaddress.IPv6Network(one)
    for one in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")
)  # to IPv4
REMEDY = (
    "give a public address, or let the operator name its network (tightrope serve "
    "--webhook-network)"
)


def networks_of(texts: Sequence[str], option: str = "webhook_network") -> list[Network]:
    """Networks from text such as 10.0.0.0/8. option: that has them. Raises ValueError with a
    sentence."""
    networks: list[Network] = []
    for text in texts:
        try:
            networks.append(ipaddress.ip_network(text))
        except ValueError:
            raise ValueError(
                f"{option} = {text!r} is not a network; give one such as 10.0.0.0/8 or "
                "127.0.0.1/32."
            ) from None
    return networks


def is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if any(address in one for one in TRANSLATED):
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def parts_of(url: str) -> tuple[str, str, int, str]:
    """Scheme, host, port, and the header Host of the address of a webhook. Refused where it is
    none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if (
        host is None
        or parts.scheme not in ("https", "http")
        or any(not "!" <= one <= "~" for one in url)
    ):
        raise Refused(
            422,
            "url is not an address of a webhook; give one such as "
            "https://hooks.example.com/tightrope.",
            "url",
        )
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise Refused(
            422,
            "url has a user, a password or a fragment, which are not sent; leave them out.",
            "url",
        )
    standard = 443 if parts.scheme == "https" else 80
    return parts.scheme, host, standard if port is None else port, parts.netloc


def checked_addresses(
    scheme: str, host: str, port: int, networks: Sequence[Network]
) -> Sequence[AddressInfo]:
    """The addresses of a name, as `getaddrinfo` answers, where all may be connected to. Raises
    Refused where one may not, and OSError where nobody knows the name."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for *_, place in addresses:
        address = ipaddress.ip_address(str(place[0]).partition("%")[0])
        if any(address.version == one.version and address in one for one in networks):
            continue
        if not is_public(address):
            raise Refused(
                422,
                f"url = {host!r} leads to {address}, which is not an address of the public "
                f"internet; {REMEDY}.",
                "url",
            )
        if scheme != "https":
            raise Refused(
                422,
                f"url begins with {scheme}://, by which anybody on the way can read it; give one "
                "with https://.",
                "url",
            )
    return addresses
