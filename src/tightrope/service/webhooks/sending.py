"""The sender: a thread that delivers messages from the database to webhooks, each at least once.

An attempt is noted before it is made and ends within ATTEMPT_SECONDS, whatever the receiver does. One that fails is made again after a
pause that doubles every time, until the message's time is over; then it has failed, which the board and the API show.
"""

import concurrent.futures
import http.client
import random
import socket
import ssl
import threading
from typing import Any

import sqlalchemy as sa

from ..domain.errors import Refused
from ..domain.times import MICROSECONDS
from ..log import webhooks
from ..log.webhooks import DELIVERED_STATUS, FAILED_STATUS, WAITING_STATUS, Delivery, Webhook
from ..runtime.addresses import connected, networks_of, parts_of
from ..runtime.service import Service
from ..runtime.telemetry import logger, metrics
from .messages import headers_of

PERIOD = 0.5  # seconds between two looks at the table
THREADS = 4  # webhooks that are sent to at once
ATTEMPT_SECONDS = 10.0
CLAIM = 60 * MICROSECONDS  # after which another process makes the attempt of one that was killed
FIRST_PAUSE, LONGEST_PAUSE = 5 * MICROSECONDS, 3600 * MICROSECONDS
REMEMBERED = 30 * 24 * 3600 * MICROSECONDS  # for which messages that are done with are listed
SLOW = f"no answer within {ATTEMPT_SECONDS:g} s"


class Sender(threading.Thread):
    """See the module."""

    def __init__(self, service: Service, period: float = PERIOD) -> None:
        super().__init__(name="webhook messages", daemon=True)
        self.service, self.period = service, period
        self.networks = networks_of(service.settings.webhook_networks)
        self.pool = concurrent.futures.ThreadPoolExecutor(THREADS, "webhook message")
        self.busy: set[int] = set()  # webhooks that are being sent to
        self.ending = threading.Event()
        self._forgot = 0

    def run(self) -> None:
        """Send until `stop`."""
        while not self.ending.wait(self.period):
            try:
                self.begin()
                self._forget()
            except (sa.exc.SQLAlchemyError, OSError) as error:
                logger().warning("webhooks not sent", error=type(error).__name__)

    def stop(self) -> None:
        """End; attempts that are under way end by themselves."""
        self.ending.set()
        self.join(ATTEMPT_SECONDS)
        self.pool.shutdown(wait=False, cancel_futures=True)

    def begin(self) -> list["concurrent.futures.Future[None]"]:
        """Begin an attempt for each webhook that has a message whose time has come."""
        now = self.service.settings.clock()
        with self.service.database.read() as connection:
            waiting = [one for one in webhooks.due(connection, now, 10 * THREADS) if one.webhook not in self.busy]
        begun = []
        for delivery in waiting:
            self.busy.add(delivery.webhook)
            begun.append(self.pool.submit(self._attempt, delivery))
        return begun

    def _forget(self) -> None:
        now = self.service.settings.clock()
        if now - self._forgot >= LONGEST_PAUSE:
            self._forgot = now
            with self.service.database.write() as connection:
                webhooks.forget(connection, now - REMEMBERED)

    def _attempt(self, delivery: Delivery) -> None:
        try:
            now = self.service.settings.clock()
            with self.service.database.write() as connection:
                hook = webhooks.webhook_of(connection, delivery.webhook)
                if hook is None or not webhooks.claim(connection, delivery, now + CLAIM):
                    return
            error = self.post(hook, delivery, now)
            status, due = outcome(delivery, error, self.service.settings.clock())
            metrics().webhooks.labels("delivered" if error is None else "failed").inc()
            if status == FAILED_STATUS:
                logger().warning("webhook failed", webhook=hook.id, experiment=delivery.experiment, message=delivery.message, reason=error)
            with self.service.database.write() as connection:
                webhooks.settle(connection, delivery.id, status, due, error)
        except (sa.exc.SQLAlchemyError, OSError) as error:  # the message waits until its claim ends
            logger().warning("webhook not noted", error=type(error).__name__)
        finally:
            self.busy.discard(delivery.webhook)

    def post(self, hook: Webhook, delivery: Delivery, now: int) -> str | None:
        """Send a message once. Returns why that failed, None where the receiver answered with a status of 2xx."""
        try:
            scheme, host, port, path = parts_of(hook.url)
            status = self._posted(scheme, host, port, path, delivery.body, headers_of(delivery.message, delivery.body, hook.secret, now))
        except Refused as error:
            return error.message
        except TimeoutError:
            return SLOW
        except (OSError, ValueError, http.client.HTTPException) as error:
            return f"{type(error).__name__}: {error}"[:300]
        if 300 <= status < 400:
            return f"status {status}; redirects are not followed, so give the address that it leads to"
        return None if 200 <= status < 300 else f"status {status}"

    def _posted(self, scheme: str, host: str, port: int, path: str, body: bytes, headers: dict[str, str]) -> int:
        """The status of an answer. Nobody's proxy is used, and no redirect is followed."""
        plain: Any = connected(scheme, host, port, self.networks, ATTEMPT_SECONDS)
        if scheme == "https":
            plain = ssl.create_default_context().wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
        over = threading.Event()

        def end() -> None:
            over.set()
            socket.socket.shutdown(plain, socket.SHUT_RDWR)

        clock = threading.Timer(ATTEMPT_SECONDS, end)  # however slowly the receiver sends
        clock.start()
        kind = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection  # they differ in the usual port
        connection = kind(host, port, timeout=ATTEMPT_SECONDS)
        connection.sock = plain
        try:
            if scheme == "https":
                plain.do_handshake()
            connection.request("POST", path, body, headers)
            status = connection.getresponse().status
            if over.is_set():  # headers that were cut off look like an answer
                raise TimeoutError
            return status
        except (OSError, ValueError, http.client.HTTPException):
            if over.is_set():
                raise TimeoutError from None
            raise
        finally:
            clock.cancel()
            connection.close()
            plain.close()


def outcome(delivery: Delivery, error: str | None, now: int) -> tuple[str, int]:
    """The status of a message after an attempt, and when the next one is due. error: of the attempt."""
    if error is None:
        return DELIVERED_STATUS, now
    pause = min(FIRST_PAUSE * 2 ** min(delivery.attempts, 20), LONGEST_PAUSE)
    due = now + int(pause * random.uniform(0.8, 1.2))  # not all at once when a receiver comes back
    return (WAITING_STATUS, due) if due <= delivery.until else (FAILED_STATUS, now)
