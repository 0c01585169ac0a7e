"""Metrics and structured logs. Neither holds contexts, subjects or keys."""

import functools
import logging
import sys

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from structlog.typing import FilteringBoundLogger

from ...core.types import Arguments


class Metrics:
    """Metrics for Prometheus."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        at: Arguments = {"registry": self.registry}
        self.requests = Counter("tightrope_requests", "Requests answered", ["route", "status"], **at)
        self.seconds = Histogram("tightrope_request_seconds", "Time to answer", ["route"], **at,
                                 buckets=(0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0))  # fmt: skip
        self.events = Counter("tightrope_events", "Events appended to the log", **at)
        self.failures = Counter("tightrope_failed_commits", "Transactions that failed, so that nothing was acknowledged", **at)
        self.group = Histogram("tightrope_group_commands", "Commands of one commit", **at, buckets=(1, 2, 5, 10, 20, 50, 100, 500, 1000))
        self.webhooks = Counter("tightrope_webhook_attempts", "Attempts to deliver a message to a webhook", ["outcome"], **at)
        self.behind = Gauge("tightrope_clock_behind_seconds", "How far the clock is behind the log: it was set back", **at)
        self.open = Gauge("tightrope_open_decisions", "Decisions that wait for rewards", ["experiment"], **at)


@functools.cache
def metrics() -> Metrics:
    return Metrics()


def start_logs() -> None:
    """Write one JSON object per line to stderr."""
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
