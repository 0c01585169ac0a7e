"""How a service runs."""

import dataclasses
import functools
import logging
import sys
import time
from collections.abc import Callable

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from structlog.typing import FilteringBoundLogger

from . import JsonObject


def wall_clock() -> int:
    return time.time_ns() // 1000


@dataclasses.dataclass(frozen=True)
class Settings:
    """db: a file, or the URL of a database. host, port: where to listen. address: of this process,
    which others on the same database tell clients who ask them for its experiments. group: commands
    of one commit at most. tick: seconds between looks at the clock.
    lease: seconds after which a silent process loses its experiments. snapshot_every: events.
    most_bytes: of a request.
    webhook_networks: addresses that are not public and that webhooks may still be delivered to,
    such as 10.0.0.0/8.
    proxies: networks of proxies that say from where, and by http or https, a request came; those of
    this machine always may.
    admin_key_file: where the first start writes the admin key, in place of showing it. access_log:
    whether every request is a line of the process's log. own_process: whether nothing but the
    service runs in it, so that its garbage collector may be told what stays."""

    db: str = "tightrope.db"
    host: str = "127.0.0.1"
    port: int = 8080
    address: str | None = None
    group: int = 1000
    tick: float = 0.5
    lease: float = 5.0
    snapshot_every: int = 50_000
    most_bytes: int = 16 * 2**20
    webhook_networks: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    admin_key_file: str | None = None
    access_log: bool = False
    own_process: bool = False
    clock: Callable[[], int] = wall_clock


# Metrics and structured logs. Neither holds contexts, subjects or keys.


class ServiceMetrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        at: JsonObject = {"registry": self.registry}
        self.requests = Counter(
            "tightrope_requests", "Requests answered", ["route", "status"], **at
        )
        self.seconds = Histogram(
            "tightrope_request_seconds",
            "Time to answer",
            ["route"],
            **at,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0),
        )
        self.events = Counter("tightrope_events", "Events appended to the log", **at)
        self.failures = Counter(
            "tightrope_failed_commits",
            "Transactions that failed, so that nothing was acknowledged",
            **at,
        )
        self.group = Histogram(
            "tightrope_group_commands",
            "Commands of one commit",
            **at,
            buckets=(1, 2, 5, 10, 20, 50, 100, 500, 1000),
        )
        self.webhooks = Counter(
            "tightrope_webhook_attempts",
            "Attempts to deliver a message to a webhook",
            ["outcome"],
            **at,
        )
        self.behind = Gauge(
            "tightrope_clock_behind_seconds",
            "How far the clock is behind the log: it was set back",
            **at,
        )
        self.open = Gauge(
            "tightrope_open_decisions", "Decisions that wait for rewards", ["experiment"], **at
        )


@functools.cache
def metrics() -> ServiceMetrics:
    return ServiceMetrics()


def start_logs() -> None:
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def logger() -> FilteringBoundLogger:
    return structlog.get_logger()
