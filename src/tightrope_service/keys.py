"""Keys: 256 random bits, of which the database has the SHA-256; a role each, some for some
experiments only; revocable; with a limit of requests per second."""

import fnmatch
import hashlib
import json
import math
import re
import secrets
import threading
import time
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from . import JsonObject, log as audit
from .database import Database
from .errors import MICROSECONDS, Refused
from .log import COMMAND_LINE, Author, experiments, keys, sessions
from .settings import logger, wall_clock

Role = Literal["read", "decide", "admin"]
ROLES: tuple[str, ...] = get_args(Role)  # each may do what those before it may
PREFIX = "tr_"
SESSION_SECONDS = 12 * 3600  # of somebody who signed in to the board
TRIES, TRY_SECONDS = (
    10,
    60.0,
)  # sign-ins that may fail at once from one address, and seconds after which one more may
MOST_ADDRESSES = 1000  # whose failed sign-ins are counted apart
PER_SECOND = 100_000.0
FRESH_SECONDS = (
    2.0  # seconds after which the table is read again, so that a revoked key ends everywhere
)
KEPT_SECONDS = 30.0  # seconds that keys are still known while the table cannot be read
MOST_PATTERNS = 100  # of one key
PATTERN = re.compile(
    r"[A-Za-z0-9_.\-*?\[\]!]{1,100}"
)  # of names of experiments, and what stands for several characters
NAME = re.compile(r"[A-Za-z0-9._-]+")  # without what stands for several characters
K, X = keys.c, experiments.c


class Key(NamedTuple):
    """A row of the table. experiments: names and patterns of those that it is for; None: all."""

    id: int
    digest: bytes
    role: str
    note: str
    per_second: float
    created: int
    revoked: int | None
    experiments: tuple[str, ...] | None

    @property
    def author(self) -> Author:
        return Author(self.id, self.note)

    def covers(self, experiment: str) -> bool:
        return self.experiments is None or any(
            fnmatch.fnmatchcase(experiment, one) for one in self.experiments
        )

    def check(self, experiment: str) -> None:
        if not self.covers(experiment):
            raise Refused(
                403,
                f"This key is for experiments {', '.join(self.experiments or ())}, and not for "
                f"{experiment!r}; `tightrope keys create` makes one that is.",
                "experiment",
            )

    def covers_all(self, experiments: Sequence[str] | None) -> bool:
        try:
            self.check_scope(experiments or ("*",))
        except Refused:
            return False
        return True

    def check_scope(self, experiments: Sequence[str] | None) -> tuple[str, ...] | None:
        """The names and patterns of something that is told of experiments, this key's own where it
        names none. Refused with 403 where one of them is neither a pattern of this key nor the name
        of an experiment that it is for."""
        if self.experiments is None or experiments is None:
            return self.experiments if experiments is None else tuple(experiments)
        for one in experiments:
            if one not in self.experiments:
                self.check(one if NAME.fullmatch(one) else f"pattern {one}")
        return tuple(experiments)


def check_pattern(pattern: str) -> None:
    if not PATTERN.fullmatch(pattern):
        raise ValueError(
            f"experiments = {pattern!r} is neither a name of experiments nor a pattern of 1 to "
            "100 letters, digits, _, ., -, *, ? and [..], such as shop-*; give one --experiments "
            "for each."
        )


def create(
    connection: Connection,
    role: str,
    note: str = "",
    per_second: float = PER_SECOND,
    experiments: Sequence[str] | None = None,
) -> str:
    """Make a key; only its digest is kept, so this is the only time that it is seen. note: whose it
    is. experiments: names and shell patterns of those that it is for; None: all."""
    if role not in ROLES:
        raise ValueError(f"role = {role!r} is not one of {', '.join(ROLES)}.")
    if not 0 < per_second < 1e9:
        raise ValueError(f"per_second = {per_second:g} must be above 0 and below 1e9.")
    if experiments is not None and not 0 < len(experiments) <= MOST_PATTERNS:
        raise ValueError(
            f"experiments has {len(experiments)} patterns, but a key takes 1 to {MOST_PATTERNS}; "
            "leave it out for all."
        )
    for pattern in experiments or ():
        check_pattern(pattern)
    key = PREFIX + secrets.token_urlsafe(32)
    now, scope = wall_clock(), None if experiments is None else list(experiments)
    connection.execute(
        sa.insert(keys).values(
            digest=digest_of(key),
            role=role,
            note=note[:200],
            per_second=per_second,
            created=now,
            experiments=None if scope is None else json.dumps(scope),
        )
    )
    id = connection.execute(sa.select(K.id).where(K.digest == digest_of(key))).scalar_one()
    audit.note(
        connection,
        now,
        COMMAND_LINE,
        None,
        "create key",
        {"key": id, "role": role, "note": note[:200], "experiments": scope},
    )
    return key


def all_keys(connection: Connection) -> list[Key]:
    return [
        Key(*row)._replace(
            experiments=None if row.experiments is None else tuple(json.loads(row.experiments))
        )
        for row in connection.execute(sa.select(keys).order_by(K.id))
    ]


def revoke(connection: Connection, id: int) -> None:
    """End a key. Running services notice within seconds."""
    now = wall_clock()
    changed = connection.execute(
        sa.update(keys).where(K.id == id, K.revoked.is_(None)).values(revoked=now)
    )
    if changed.rowcount != 1:
        raise ValueError(
            f"id = {id} is not a key, or it was revoked before; `tightrope keys list` shows all."
        )
    audit.note(connection, now, COMMAND_LINE, None, "revoke key", {"key": id})


def digest_of(key: str) -> bytes:
    """The digest of a key, which the database keeps. It needs no salt: nobody guesses 256 random
    bits."""
    return hashlib.sha256(key.encode()).digest()


def covered(database: Database, key: Key) -> list[JsonObject]:
    with database.read() as connection:
        rows = connection.execute(sa.select(X.name, X.seq, X.owner).order_by(X.name))
        return [dict(row._mapping) for row in rows if key.covers(row.name)]


class Bucket:
    """A token bucket: so many decisions, rewards or other requests a second, and as many at once
    after a pause, or `most`."""

    def __init__(self, per_second: float, most: float | None = None) -> None:
        self.per_second, self.most = per_second, max(per_second, 1.0) if most is None else most
        self.tokens, self.filled = self.most, time.monotonic()

    def wait(self) -> float:
        """0, or the seconds until there will be one to take."""
        now = time.monotonic()
        self.tokens = min(self.most, self.tokens + (now - self.filled) * self.per_second)
        self.filled = now
        return (1.0 - self.tokens) / self.per_second if self.tokens < 1.0 else 0.0

    def take(self) -> float:
        """Take one; returns 0, or the seconds until there will be one."""
        wait = self.wait()
        self.tokens -= not wait
        return wait


class KeyRing:
    """Who may do what: keys from memory, which is refreshed from the table."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._known: dict[bytes, Key] = {}
        self._buckets: dict[int, Bucket] = {}
        self._read = self._tried = -math.inf
        self._sessions: dict[
            bytes, tuple[int, int]
        ] = {}  # of the board: by digest, the key and until when
        self._tries: dict[str, Bucket] = {}  # sign-ins that may still fail, by address
        self._lost = False  # the table could not be read for too long
        self._reading = threading.Lock()

    def stale(self) -> bool:
        return time.monotonic() - self._tried >= FRESH_SECONDS

    def refresh(self) -> None:
        """Read the table; blocks, also while another reads. Where it cannot be read, the known keys
        hold for a moment."""
        with self._reading:
            try:
                with self.database.read() as connection:
                    valid_keys = {
                        key.digest: key for key in all_keys(connection) if key.revoked is None
                    }
                    rows = connection.execute(sa.select(sessions)).all()
                self._known, self._read, self._lost = valid_keys, time.monotonic(), False
                self._sessions = {bytes(row.digest): (row.key, row.until) for row in rows}
            except (sa.exc.SQLAlchemyError, OSError) as error:
                self._lost = time.monotonic() - self._read >= KEPT_SECONDS
                logger().warning("keys not read", error=type(error).__name__)
            finally:
                self._tried = time.monotonic()

    def knows(self, text: str | None) -> bool:
        return text is not None and digest_of(text) in self._known

    def check(self, text: str | None, role: str, experiment: str | None = None) -> Key:
        """The key of a request, allowed to do what the role says, with an experiment if it names
        one. Refused with 401, 403, 429 or 503."""
        if not text:
            raise Refused(
                401, "The request has no key; send it as the header Authorization: Bearer tr_..."
            )
        self._check_known()
        key = self._known.get(digest_of(text))
        if key is None:
            raise Refused(
                401, "The key is not known, or it was revoked; `tightrope keys create` makes one."
            )
        return self._allow(key, role, experiment)

    def knows_session(self, cookie: str) -> bool:
        """Whether somebody had signed in with it when the table was last read."""
        return digest_of(cookie) in self._sessions

    def check_session(self, cookie: str, role: str, experiment: str | None = None) -> Key:
        self._check_known()
        id, until = self._sessions.get(digest_of(cookie), (0, 0))
        if until < wall_clock():
            raise Refused(401, "Sign in with a key.")
        key = next((key for key in self._known.values() if key.id == id), None)
        if key is None:
            raise Refused(401, "The key was revoked; sign in with another one.")
        return self._allow(key, role, experiment)

    def _check_known(self) -> None:
        if self._lost:
            raise Refused(
                503,
                f"Keys could not be read for {KEPT_SECONDS:g} seconds; send the same request "
                "again.",
                retry_after=FRESH_SECONDS,
            )

    def _allow(self, key: Key, role: str, experiment: str | None) -> Key:
        if ROLES.index(key.role) < ROLES.index(role):
            raise Refused(
                403, f"This key may {key.role}, but the request needs one that may {role}."
            )
        if experiment is not None:
            key.check(experiment)
        wait = self._buckets.setdefault(key.id, Bucket(key.per_second)).take()
        if wait:
            raise Refused(
                429,
                f"This key may send {key.per_second:g} decisions, rewards or requests a second; "
                "wait.",
                retry_after=wait,
            )
        return key

    def sign_in(self, key: Key) -> str:
        """The cookie of somebody who signs in to the board, of which only the digest is kept;
        blocks."""
        cookie, now = secrets.token_urlsafe(32), wall_clock()
        until = now + SESSION_SECONDS * MICROSECONDS
        with self.database.write() as connection:
            connection.execute(sa.delete(sessions).where(sessions.c.until < now))
            connection.execute(
                sa.insert(sessions).values(digest=digest_of(cookie), key=key.id, until=until)
            )
            audit.note(connection, now, key.author, None, "sign in", {})
        self._sessions[digest_of(cookie)] = key.id, until
        return cookie

    def sign_out(self, cookie: str) -> None:
        """End a session of the board, here at once and in other processes with their next look;
        blocks."""
        self._sessions.pop(digest_of(cookie), None)
        with self.database.write() as connection:
            connection.execute(sa.delete(sessions).where(sessions.c.digest == digest_of(cookie)))

    def check_tries(self, address: str) -> None:
        """Refused with 429 where sign-ins from an address have failed too often, which leaves no
        row."""
        bucket = self._tries.get(address)
        wait = 0.0 if bucket is None else bucket.wait()
        if wait:
            raise Refused(
                429,
                f"Too many sign-ins from {address} have failed; wait {math.ceil(wait)} s.",
                retry_after=wait,
            )

    def fail_to_sign_in(self, address: str) -> None:
        """Note that somebody at an address showed no key that is known; blocks."""
        if len(self._tries) >= MOST_ADDRESSES:
            self._tries.pop(next(iter(self._tries)))
        self._tries.setdefault(address, Bucket(1.0 / TRY_SECONDS, TRIES)).take()
        with self.database.write() as connection:
            audit.note(
                connection,
                wall_clock(),
                Author(None, "board"),
                None,
                "sign in refused",
                {"address": address},
            )

    def charge(self, key: Key, count: int) -> None:
        """Count the other items of a batch, beside its request; what there is not yet is paid off
        afterwards. Refused with 429 where another batch, whose body came meanwhile, is not paid
        off."""
        bucket = self._buckets[key.id]
        if count > 0 and bucket.tokens < 0.0:
            raise Refused(
                429,
                f"This key may send {key.per_second:g} decisions, rewards or requests a second; "
                "wait.",
                retry_after=(1.0 - bucket.tokens) / key.per_second,
            )
        if count > 0:
            bucket.tokens -= count
