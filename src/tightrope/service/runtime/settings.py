"""How a service runs."""

import dataclasses
import time
from collections.abc import Callable


def wall_clock() -> int:
    return time.time_ns() // 1000


@dataclasses.dataclass(frozen=True)
class Settings:
    """db: a file, or the URL of a database. host, port: where to listen. address: of this process, which others on the same database
    tell clients who ask them for its experiments. group: commands of one commit at most. tick: seconds between looks at the clock.
    lease: seconds after which a silent process loses its experiments. snapshot_every: events. most_bytes: of a request.
    webhook_networks: addresses that are not public and that webhooks may still be delivered to, such as 10.0.0.0/8.
    proxies: networks of proxies that say from where, and by http or https, a request came; those of this machine always may.
    admin_key_file: where the first start writes the admin key, in place of showing it. access_log: whether every request is a line
    of the process's log. own_process: whether nothing but the service runs in it, so that its garbage collector may be told what stays."""

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
