"""The tables. `migrations/` makes them; a test compares both."""

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    text,
)

metadata = MetaData()
DECIDED, SUBJECT = text("kind = 'decided'"), text("subject IS NOT NULL")

experiments = Table(
    "experiments", metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("spec", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),  # of its last event
    Column("digest", LargeBinary, nullable=False),  # of its last event
    Column("fence", BigInteger, nullable=False),  # grows with every change of the process that writes
    Column("owner", String(40)),  # the process that writes
    Column("address", Text),  # where other processes reach it
    Column("lease_until", Float),  # seconds since 1970, by the database's clock
)  # fmt: skip

events = Table(
    "events", metadata,
    Column("experiment", Integer, ForeignKey("experiments.id"), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("time", BigInteger, nullable=False),  # microseconds since 1970
    Column("key", String(200)),  # the decision it is about
    Column("subject", String(200)),  # whose data it is, until it is erased
    Column("body", LargeBinary, nullable=False),  # JSON
    Column("body_digest", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    PrimaryKeyConstraint("experiment", "seq"),
    Index("events_of_decision", "experiment", "key"),
    Index("one_decision", "experiment", "key", unique=True, sqlite_where=DECIDED, postgresql_where=DECIDED),
    Index("events_of_subject", "experiment", "subject", sqlite_where=SUBJECT, postgresql_where=SUBJECT),
)  # fmt: skip

snapshots = Table(
    "snapshots", metadata,
    Column("experiment", Integer, ForeignKey("experiments.id"), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("rest", Text, nullable=False),  # JSON: what the session does not hold
    Column("session", LargeBinary, nullable=False),
    PrimaryKeyConstraint("experiment", "seq"),
)  # fmt: skip

keys = Table(
    "keys", metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", LargeBinary, nullable=False, unique=True),  # SHA-256 of the key
    Column("role", String(10), nullable=False),
    Column("note", String(200), nullable=False),
    Column("per_second", Float, nullable=False),  # requests
    Column("created", BigInteger, nullable=False),
    Column("revoked", BigInteger),
    Column("experiments", Text),  # JSON: names and patterns of the experiments it is for; null: all
)  # fmt: skip

sessions = Table(
    "sessions", metadata,  # of the board
    Column("digest", LargeBinary, primary_key=True),  # SHA-256 of the cookie
    Column("key", Integer, nullable=False),  # that somebody signed in with
    Column("until", BigInteger, nullable=False),  # microseconds since 1970
)  # fmt: skip

audit = Table(
    "audit", metadata,
    Column("id", Integer, primary_key=True),
    Column("time", BigInteger, nullable=False),  # microseconds since 1970
    Column("key", Integer),  # null: none was needed
    Column("note", String(200), nullable=False),  # of the key, as it was
    Column("experiment", String(100)),
    Column("action", String(40), nullable=False),
    Column("detail", Text, nullable=False),  # JSON
    Index("audit_of_experiment", "experiment", "id"),
)  # fmt: skip

secrets = Table(
    "secrets", metadata,
    Column("name", String(40), primary_key=True),
    Column("value", LargeBinary, nullable=False),
)  # fmt: skip

webhooks = Table(
    "webhooks", metadata,
    Column("id", Integer, primary_key=True),
    Column("url", Text, nullable=False),
    Column("events", Text, nullable=False),  # JSON: kinds of messages
    Column("experiments", Text),  # JSON: names and patterns of the experiments it is for; null: all
    Column("secret", LargeBinary, nullable=False),  # that messages are signed with
    Column("note", String(200), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("busy_until", BigInteger, nullable=False),  # a process sends to it
)  # fmt: skip

webhook_told = Table(
    "webhook_told", metadata,  # what lasts and was told, until it ends
    Column("webhook", Integer, nullable=False),
    Column("experiment", Integer, nullable=False),
    Column("scope", String(20), nullable=False),  # budget, assumption or winner
    Column("about", Text, nullable=False),  # the arm, or the sentence
    PrimaryKeyConstraint("webhook", "experiment", "scope", "about"),
)  # fmt: skip

outbox = Table(
    "outbox", metadata,  # messages, each written in the transaction of its event
    Column("id", Integer, primary_key=True),
    Column("message", String(40), nullable=False),  # id that the receiver sees, the same in every attempt
    Column("webhook", Integer, nullable=False),
    Column("experiment", String(100), nullable=False),
    Column("event", String(40), nullable=False),
    Column("body", LargeBinary, nullable=False),  # JSON
    Column("created", BigInteger, nullable=False),  # microseconds since 1970, as the next two
    Column("due", BigInteger, nullable=False),  # of the next attempt
    Column("until", BigInteger, nullable=False),  # no attempt after it
    Column("attempts", Integer, nullable=False),
    Column("status", String(10), nullable=False),  # waiting, delivered or failed
    Column("error", Text),  # of the last attempt
    Index("outbox_due", "status", "due"),
    Index("outbox_of_webhook", "webhook", "id"),
)  # fmt: skip
