"""Connections: SQLite by default (one process, WAL, every commit on disk), PostgreSQL by URL."""

import contextlib
import fcntl
import importlib.resources
import math
import os
import pathlib
import sqlite3
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy.engine import Connection

from . import JsonObject

if TYPE_CHECKING:
    import sqlite3

BUSY = 10_000  # milliseconds that a connection waits for another's write
SCRUB_WAIT = 100  # milliseconds that an attempt to empty the write-ahead log keeps others waiting
AT_ONCE = (
    16 * 2**20
)  # bytes of a file that is written anew while others wait for a tenth of a second
MOST_REWRITTEN = 128 * 2**20  # the same for about a second
# a number for PostgreSQL's advisory locks: whoever has it makes tables and the first key
SETTING_UP = 8_367_455


class Database:
    """A database of experiments. url: "sqlite:///tightrope.db", "postgresql://user@host/name";
    other databases are refused."""

    def __init__(self, url: str) -> None:
        self.url = checked_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        # each statement is planned when it runs: a plan that was kept since the log was short would
        # read all of it
        options: JsonObject = (
            {}
            if self.sqlite
            else {"pool_pre_ping": True, "connect_args": {"prepare_threshold": None}}
        )
        self.engine = sa.create_engine(self.url, **options)
        self.file = (
            str(self.url.database)
            if self.sqlite and self.url.database not in (None, "", ":memory:")
            else None
        )
        if self.sqlite:
            sa.event.listen(self.engine, "do_connect", self._keep_private)
            sa.event.listen(self.engine, "connect", _prepare)
            sa.event.listen(self.engine, "begin", _begin)
        self._lock: BinaryIO | None = None

    def _keep_private(self, *connecting: object) -> None:
        """Make a new SQLite file for its owner alone: it has the keys that certificates, webhooks
        and cookies are signed with. SQLite gives the files beside it the same mode. A file that
        exists is not opened, as closing it would end SQLite's locks on it."""
        if self.file is not None:
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))

    def readable_files(self) -> list[str]:
        """The files of SQLite that other users of the machine may read or write."""
        files = (
            []
            if self.file is None
            else [pathlib.Path(self.file + end) for end in ("", "-wal", "-shm")]
        )
        return [str(file) for file in files if file.exists() and file.stat().st_mode & 0o077]

    def migrate(self) -> None:
        config = Config()
        config.set_main_option(
            "script_location", str(importlib.resources.files("tightrope_service") / "migrations")
        )
        config.set_main_option("path_separator", "os")
        try:
            with self.write() as connection:
                self.alone(connection)
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
        except CommandError:  # a revision that this version does not know
            raise ValueError(
                "db was written by a newer version of tightrope, or before 0.1.0; install that "
                "one, or restore an older backup."
            ) from None
        except sa.exc.DatabaseError as error:
            raise damaged(error) from None

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        options = (
            {} if self.sqlite else {"isolation_level": "REPEATABLE READ"}
        )  # PostgreSQL's default: what is new at every statement
        with self.engine.connect().execution_options(**options) as connection:
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        with self.engine.connect().execution_options(writes=True) as connection, connection.begin():
            yield connection

    def alone(self, connection: Connection) -> None:
        """Wait until no other process sets this database up, and keep them waiting until the
        transaction ends."""
        if not self.sqlite:  # there every transaction that writes is alone
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({SETTING_UP})")

    def lock(self) -> None:
        """Hold an SQLite file for this process alone, until it ends in whatever way. Raises
        ValueError where another has it."""
        if self.file is None:
            return
        file = open(  # noqa: SIM115  open with the process
            os.open(f"{self.file}.lock", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "ab"
        )
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise ValueError(
                f"db = {self.file!r} is served by another process; SQLite takes one, give --db "
                "postgresql://.. for more."
            ) from None
        self._lock = file

    def rewrite(self, most: float = math.inf) -> bool | None:
        """Write an SQLite file anew, so that no page keeps what was deleted. False where it has
        more than so many bytes, in which others would wait, and for PostgreSQL, whose vacuum is its
        owner's decision; None where it failed, on a full disk for one, and can be tried again.

        `secure_delete` overwrites what is deleted, but not the copies in unused bytes of pages
        between which SQLite moved rows of an index.
        """
        if not self.sqlite or (self.file is not None and os.stat(self.file).st_size > most):
            return False
        connection = (
            self.engine.raw_connection()
        )  # no transaction is begun, in which there is no VACUUM
        try:
            connection.cursor().execute("VACUUM")
        except sqlite3.OperationalError:
            return None
        finally:
            connection.close()
        return True

    def scrub(self) -> bool:
        """Empty SQLite's write-ahead log, which keeps copies of what was deleted. False where
        somebody still reads it; try again."""
        if not self.sqlite:
            return True
        with self.engine.connect() as connection:
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {SCRUB_WAIT}")
            busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {BUSY}")
        return not busy

    def close(self) -> None:
        self.engine.dispose()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def now(self, connection: Connection) -> float:
        """Seconds since 1970 by the database's clock, which all processes share."""
        clock = (
            "SELECT (julianday('now') - 2440587.5) * 86400.0"
            if self.sqlite
            else "SELECT extract(epoch FROM clock_timestamp())"
        )
        return float(connection.exec_driver_sql(clock).scalar_one())


def damaged(error: sa.exc.DatabaseError) -> ValueError:
    if isinstance(error, sa.exc.OperationalError):
        return ValueError(
            f"db cannot be reached ({error.orig}); see whether it runs, and whether it may be "
            "written."
        )
    return ValueError(
        f"db cannot be read ({error.orig}); restore it from a backup, and see whether the disk is "
        "well."
    )


def checked_url(url: str) -> sa.URL:
    """The URL of a database that is supported; a path is an SQLite file. Raises ValueError
    otherwise, without the password."""
    if "://" not in url:
        url = f"sqlite:///{url}"
    try:
        parsed = sa.make_url(url)
        name = parsed.get_backend_name()
    except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError):
        raise ValueError(
            "db is not the URL of a database; give a file, sqlite:///tightrope.db or "
            "postgresql://user@host/name."
        ) from None
    if name == "sqlite":
        if parsed.database not in (None, "", ":memory:"):
            folder = pathlib.Path(str(parsed.database)).resolve().parent
            if not folder.is_dir() or not os.access(folder, os.W_OK):
                raise ValueError(
                    f"db = {parsed.database!r} cannot be written; its folder {str(folder)!r} does "
                    "not exist or is read-only."
                )
        return parsed
    if name == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    raise ValueError(
        f"db is a {name} database; give an SQLite file or postgresql://user@host/name."
    )


def _prepare(connection: "sqlite3.Connection", record: object) -> None:
    """Each new SQLite connection. secure_delete: what is erased leaves the file too."""
    connection.isolation_level = None  # transactions are begun by `_begin`
    cursor = connection.cursor()
    for setting in (
        "journal_mode = WAL",
        "synchronous = FULL",
        f"busy_timeout = {BUSY}",
        "foreign_keys = ON",
        "secure_delete = ON",
    ):
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(
        "BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN"
    )
