"""Webhooks: who is told what happens in experiments."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import APIRouter, Path, Query, Request, Response
from sqlalchemy.engine import Connection

from ...core.types import JsonObject
from ..domain.errors import Refused, invalid
from ..domain.notices import NOTICE_KINDS
from ..domain.requests import WebhookRequest
from ..domain.times import timestamp
from ..log import audit, webhooks
from ..log.webhooks import RETRY_PERIOD, WAITING_STATUS, Delivery, Webhook, shown_secret
from ..runtime.addresses import checked_addresses, networks_of, parts_of
from ..runtime.keys import Key, check_pattern
from ..runtime.service import Service
from .answers import DeliveriesAnswer, NewWebhookAnswer, RetryAnswer, WebhookAnswer, WebhooksAnswer
from .common import Served, answer, needs, replies

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"])
Number = Annotated[int, Path(ge=1, le=2**31 - 1, description="Number of the webhook.")]
MOST_WEBHOOKS = 100

T = TypeVar("T")


def webhook_answer(hook: Webhook, counts: dict[int, dict[str, int]]) -> JsonObject:
    mine = counts.get(hook.id, {})
    return {
        "id": hook.id, "url": hook.url, "events": list(hook.events),
        "experiments": None if hook.experiments is None else list(hook.experiments), "note": hook.note,
        "created": timestamp(hook.created), "waiting": mine.get(webhooks.WAITING_STATUS, 0), "failed": mine.get(webhooks.FAILED_STATUS, 0),
    }  # fmt: skip


def delivery_line(one: Delivery) -> JsonObject:
    return {
        "id": one.message, "experiment": one.experiment, "type": one.event, "created": timestamp(one.created), "status": one.status,
        "attempts": one.attempts, "next_attempt": timestamp(one.due) if one.status == WAITING_STATUS else None, "error": one.error,
    }  # fmt: skip


def check_key(key: Key, hook: Webhook) -> None:
    """Refused with 403 where a webhook is told of experiments that the key is not for."""
    key.check_scope(hook.experiments or ("*",))


async def with_webhook(
    request: Request, service: Service, id: int, work: Callable[[Connection, Webhook], T], writes: bool = False
) -> T:  # fmt: skip
    """The value of a function of a webhook, in one transaction. Refused where there is none, or the key is not for it."""
    key: Key = request.state.key

    def within() -> T:
        with service.database.write() if writes else service.database.read() as connection:
            hook = webhooks.webhook_of(connection, id)
            if hook is None and key.experiments is not None:
                key.check("*")  # whether there is one is not told
            if hook is None:
                raise Refused(404, f"webhook = {id} does not exist; GET /v1/webhooks lists all.", "webhook")
            check_key(key, hook)
            return work(connection, hook)

    return await service.in_thread("names", within)


@router.post("", status_code=201, dependencies=[needs("admin")], responses=replies(NewWebhookAnswer, 409, success=201))
async def create_webhook(webhook: WebhookRequest, request: Request, service: Served) -> Response:
    """Tell an address what happens from now on. The answer has the secret that messages are signed with; it is shown only this once."""
    key: Key = request.state.key
    try:
        for pattern in webhook.experiments or ():
            check_pattern(pattern)
    except ValueError as error:
        raise invalid(error) from None
    scope = key.check_scope(webhook.experiments)
    scheme, host, port, _ = parts_of(webhook.url)
    networks = networks_of(service.settings.webhook_networks)

    def work() -> Webhook:
        try:
            checked_addresses(scheme, host, port, networks)
        except (OSError, UnicodeError):  # nobody knows the name, or it can be none
            raise Refused(422, f"url = {host!r} is not a name that leads anywhere; give one that exists.", "url") from None
        now = service.settings.clock()
        with service.database.write() as connection:
            if len(webhooks.all_webhooks(connection)) >= MOST_WEBHOOKS:
                raise Refused(409, f"There are {MOST_WEBHOOKS} webhooks already, which is the limit; remove one first.")
            hook = webhooks.create(connection, now, webhook.url, tuple(webhook.events or NOTICE_KINDS), scope, webhook.note)
            details = {"webhook": hook.id, "host": host, "events": list(hook.events), "experiments": None if scope is None else list(scope)}
            audit.note(connection, now, key.author, None, "create webhook", details)
        return hook

    hook = await service.in_thread("names", work)
    return answer(webhook_answer(hook, {}) | {"secret": shown_secret(hook.secret)}, 201)


@router.get("", dependencies=[needs("admin")], responses=replies(WebhooksAnswer))
async def list_webhooks(request: Request, service: Served) -> Response:
    """All webhooks that the key is for."""

    def work() -> list[JsonObject]:
        with service.database.read() as connection:
            counts = webhooks.counts(connection)
            return [
                webhook_answer(hook, counts) for hook in webhooks.all_webhooks(connection) if request.state.key.covers_all(hook.experiments)
            ]

    return answer({"webhooks": await service.in_thread("reading", work)})


@router.get("/{webhook}", dependencies=[needs("admin")], responses=replies(WebhookAnswer, 404))
async def read_webhook(webhook: Number, request: Request, service: Served) -> Response:
    """One webhook."""
    return answer(await with_webhook(request, service, webhook, lambda at, hook: webhook_answer(hook, webhooks.counts(at))))


@router.delete("/{webhook}", status_code=204, dependencies=[needs("admin")], responses=replies(None, 404, success=204))
async def remove_webhook(webhook: Number, request: Request, service: Served) -> Response:
    """Tell it nothing any more. Its messages go with it."""

    def work(connection: Connection, hook: Webhook) -> None:
        webhooks.remove(connection, hook.id)
        audit.note(connection, service.settings.clock(), request.state.key.author, None, "remove webhook", {"webhook": hook.id})

    await with_webhook(request, service, webhook, work, writes=True)
    return Response(status_code=204)


@router.get("/{webhook}/deliveries", dependencies=[needs("admin")], responses=replies(DeliveriesAnswer, 404))
async def list_deliveries(
    webhook: Number, request: Request, service: Served, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Response:  # fmt: skip
    """The last messages, the newest first, and what became of them. They are kept for 30 days."""
    listed = await with_webhook(request, service, webhook, lambda at, hook: webhooks.last_deliveries(at, hook.id, limit))
    return answer({"deliveries": [delivery_line(one) for one in listed]})


@router.post("/{webhook}/retry", dependencies=[needs("admin")], responses=replies(RetryAnswer, 404))
async def retry_deliveries(webhook: Number, request: Request, service: Served) -> Response:
    """Try messages that have failed for another day."""
    now = service.settings.clock()
    retried = await with_webhook(
        request, service, webhook, lambda at, hook: webhooks.retry(at, hook.id, now, now + RETRY_PERIOD), writes=True
    )
    return answer({"retried": retried})
