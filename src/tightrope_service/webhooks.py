"""The sender of webhooks: a thread that takes due messages from the outbox, one at a time for each
webhook, and retries; and the search for notices that hold of a whole experiment."""

import base64
import concurrent.futures
import hashlib
import hmac
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import httpcore
import sqlalchemy as sa
from pydantic_core import from_json, to_json

from . import certificate, commands, outbox
from .board_view import sentence_of
from .errors import MICROSECONDS, Refused
from .outbox import (
    DELIVERED_STATUS,
    FAILED_STATUS,
    WAITING_STATUS,
    Delivery,
    Network,
    Webhook,
    checked_addresses,
    networks_of,
    parts_of,
)
from .service import Histories, Service
from .settings import logger, metrics
from .writer import Command, Transaction

PERIOD = 0.5  # seconds between two looks at the outbox
THREADS = 4  # webhooks that are sent to at once
ATTEMPT_SECONDS = 10.0
ANSWER_SECONDS = 5.0  # that the writer may take to say how an experiment stands
CLAIM = 15 * MICROSECONDS  # after which another process makes the attempt of one that was killed
FIRST_PAUSE, LONGEST_PAUSE = 5 * MICROSECONDS, 3600 * MICROSECONDS
REMEMBERED = 30 * 24 * 3600 * MICROSECONDS  # for which messages that are done with are listed
SLOW = f"no answer within {ATTEMPT_SECONDS:g} s"

names = concurrent.futures.ThreadPoolExecutor(
    THREADS, "webhook name"
)  # a look-up has no deadline of its own


class TimedStream(httpcore.NetworkStream):
    """A connection on which all that is done ends by one time, however slowly the receiver sends.
    left: seconds until then."""

    def __init__(self, socket: socket.socket, left: Callable[[], float]) -> None:
        self.socket, self.left = socket, left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self.socket.settimeout(self.left())
        return self.socket.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.socket.settimeout(self.left())
        self.socket.sendall(buffer)

    def close(self) -> None:
        self.socket.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        self.socket.settimeout(self.left())
        self.socket = ssl_context.wrap_socket(self.socket, server_hostname=server_hostname)
        return self


class CheckedBackend(httpcore.NetworkBackend):
    """Connections to the addresses that were checked, and to no others."""

    def __init__(self, scheme: str, networks: Sequence[Network], seconds: float) -> None:
        self.scheme, self.networks, self.ends = scheme, networks, time.monotonic() + seconds

    def left(self) -> float:
        seconds = self.ends - time.monotonic()
        if seconds <= 0.0:
            raise TimeoutError
        return seconds

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        addresses = names.submit(checked_addresses, self.scheme, host, port, self.networks).result(
            self.left()
        )
        for number, (family, kind, protocol, _, place) in enumerate(addresses):
            connection = socket.socket(family, kind, protocol)
            try:
                connection.settimeout(self.left() / (len(addresses) - number))
                connection.connect(place)
            except OSError:
                connection.close()
                if number + 1 == len(addresses):
                    raise
            else:
                return TimedStream(connection, self.left)
        raise OSError(f"{host} leads nowhere")


class Sender(threading.Thread):
    def __init__(self, service: Service, period: float = PERIOD) -> None:
        super().__init__(name="webhook messages", daemon=True)
        self.service, self.period = service, period
        self.networks = networks_of(service.settings.webhook_networks)
        self.pool = concurrent.futures.ThreadPoolExecutor(THREADS, "webhook message")
        self.busy: set[int] = set()  # webhooks that this process is sending to
        self.ending = False
        self._forgot = 0

    def run(self) -> None:
        while not self.ending:
            self.service.writer.outbox_ready.wait(self.period)
            self.service.writer.outbox_ready.clear()
            try:
                self.begin()
                now = self.service.settings.clock()
                if now - self._forgot >= LONGEST_PAUSE:
                    self._forgot = now
                    with self.service.database.write() as connection:
                        outbox.forget(connection, now - REMEMBERED)
            except (sa.exc.SQLAlchemyError, OSError) as error:
                logger().warning("webhooks not sent", error=type(error).__name__)

    def stop(self) -> None:
        self.ending = True
        self.service.writer.outbox_ready.set()
        self.join(ATTEMPT_SECONDS)
        self.pool.shutdown(wait=False, cancel_futures=True)

    def begin(self) -> list["concurrent.futures.Future[None]"]:
        with self.service.database.read() as connection:
            waiting = outbox.ready(connection, self.service.settings.clock())
        begun = []
        for delivery in waiting:
            if delivery.webhook not in self.busy and not self.ending:
                self.busy.add(delivery.webhook)
                begun.append(self.pool.submit(self._attempt, delivery))
        return begun

    def _attempt(self, delivery: Delivery) -> None:
        try:
            if delivery.attempts == 0:
                delivery = delivery._replace(body=self._with_board(delivery))
            with self.service.database.write() as connection:
                now = self.service.settings.clock()  # others may have kept this waiting
                hook = outbox.claim(connection, delivery, now, now + CLAIM)
            if hook is None:
                return
            error = self.post(hook, delivery, now)
            status, due = outcome(delivery, error, self.service.settings.clock())
            metrics().webhooks.labels("delivered" if error is None else "failed").inc()
            if status == FAILED_STATUS:
                logger().warning(
                    "webhook failed",
                    webhook=hook.id,
                    experiment=delivery.experiment,
                    message=delivery.message,
                    reason=error,
                )
            with self.service.database.write() as connection:
                outbox.settle(connection, delivery, now + CLAIM, status, due, error)
        except (sa.exc.SQLAlchemyError, OSError) as error:  # the message waits until its claim ends
            logger().warning("webhook not noted", error=type(error).__name__)
        finally:
            self.busy.discard(delivery.webhook)

    def _with_board(self, delivery: Delivery) -> bytes:
        """The body with the sentence of the board's first card; null where nobody can say it
        now."""
        name, body = delivery.experiment, from_json(delivery.body)
        ticket: concurrent.futures.Future[Any] = concurrent.futures.Future()
        if self.service.closing or not self.service.writer.is_alive():
            return delivery.body
        self.service.writer.ask(Command(name, commands.describe_standing, (), ticket))
        try:
            standing = ticket.result(ANSWER_SECONDS)
            with self.service.histories.until(name, standing["seq"]) as history:
                body["data"]["board"] = sentence_of(standing, history)
        except (Refused, TimeoutError):
            return delivery.body
        return to_json(body, inf_nan_mode="null")

    def post(self, hook: Webhook, delivery: Delivery, now: int) -> str | None:
        """Send a message once. Returns why that failed, None where the receiver answered with a
        status of 2xx. Nobody's proxy is used."""
        try:
            scheme, _, _, host = parts_of(hook.url)
            headers = headers_of(delivery.message, delivery.body, hook.secret, now) | {"Host": host}
            backend = CheckedBackend(scheme, self.networks, ATTEMPT_SECONDS)
            context = ssl.create_default_context()
            with (
                httpcore.ConnectionPool(context, network_backend=backend) as pool,
                pool.stream("POST", hook.url, headers=headers, content=delivery.body) as answer,
            ):
                status = answer.status
        except Refused as error:
            return error.message
        except TimeoutError:
            return SLOW
        except (OSError, ValueError, httpcore.ProtocolError) as error:
            return f"{type(error).__name__}: {error}"[:300]
        if 300 <= status < 400:
            return (
                f"status {status}; redirects are not followed, so give the address that it leads to"
            )
        return None if 200 <= status < 300 else f"status {status}"


def outcome(delivery: Delivery, error: str | None, now: int) -> tuple[str, int]:
    """The status of a message after an attempt, and when the next one is due. error: of the
    attempt."""
    if error is None:
        return DELIVERED_STATUS, now
    pause = min(FIRST_PAUSE * 2 ** min(delivery.attempts, 20), LONGEST_PAUSE)
    due = now + int(pause * random.uniform(0.8, 1.2))  # not all at once when a receiver comes back
    return (WAITING_STATUS, due) if due <= delivery.until else (FAILED_STATUS, now)


def headers_of(
    message: str, body: bytes, secret: bytes, now: int
) -> dict[str | bytes, str | bytes]:
    """The headers of an attempt, by which a receiver knows who sent it
    (https://www.standardwebhooks.com)."""
    time = str(now // MICROSECONDS)
    signature = base64.b64encode(
        hmac.new(
            secret, b".".join((message.encode(), time.encode(), body)), hashlib.sha256
        ).digest()
    ).decode()
    return {
        "Content-Type": "application/json",
        "User-Agent": "tightrope",
        "webhook-id": message,
        "webhook-timestamp": time,
        "webhook-signature": f"v1,{signature}",
    }


def notice_standing(service: Service, histories: Histories, transaction: Transaction) -> None:
    """Let the writer tell what holds of all of an experiment, once another thread has found it.
    histories: none of the board's, which looking at many experiments would push out."""
    name = transaction.experiment.name
    hooks = outbox.covering(transaction.connection, name)
    if not any(
        kind in hook.events for hook in hooks for kind in ("winner.known", "promise.at_risk")
    ):
        return
    standing = commands.describe_standing(transaction)

    def find() -> None:
        with histories.until(name, standing["seq"]) as history:
            holding = {"assumption": certificate.contradicted(standing, history)}
            if winner := certificate.known_winner(standing, history):
                holding["winner"] = winner

        def tell(at: Transaction) -> None:
            for scope, found in holding.items():
                at.notify_lasting(scope, found)

        service.writer.ask(Command(name, tell))

    service.threads["noticing"].submit(find).add_done_callback(note_failure)


def note_failure(done: "concurrent.futures.Future[None]") -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        logger().warning("webhooks not told", error=type(error).__name__)
