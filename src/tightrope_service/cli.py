"""Commands of the service. What they need is loaded when one of them runs, so that `tightrope
--help` stays quick."""

import contextlib
import math
import pathlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from . import require

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from .database import Database

Db = Annotated[
    str, typer.Option(envvar="TIGHTROPE_DB", help="An SQLite file, or postgresql://user@host/name.")
]
Which = Annotated[str | None, typer.Option("--experiment", help="One experiment; default all.")]
One = Annotated[str, typer.Option("--experiment", help="The experiment.")]

log = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The log of the service: verify, replay, export, import.",
)
keys = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Keys of the service.")


def serve(
    db: Db = "tightrope.db",
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8080,
    address: Annotated[
        str | None,
        typer.Option(
            help="http://host:port of this process, which others on the same database tell clients."
        ),
    ] = None,
    webhook_network: Annotated[
        list[str] | None,
        typer.Option(
            help="Addresses that are not public, such as 10.0.0.0/8, and may still be told by "
            "webhooks; again for more."
        ),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="Addresses of proxies whose X-Forwarded-Proto and -For are believed, such as "
            "10.0.0.0/8; again for more."
        ),
    ] = None,
    admin_key_file: Annotated[
        str | None,
        typer.Option(
            help="A new file that the first start writes the admin key to, with mode 0600, in "
            "place of showing it."
        ),
    ] = None,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="Write a line of JSON for every request to stderr.")
    ] = False,
) -> None:
    """Serve decisions over HTTP; the first start prints an admin key."""
    require()
    from .app import serve as run
    from .outbox import networks_of
    from .settings import Settings

    networks, proxies = tuple(webhook_network or ()), tuple(proxy or ())
    networks_of(networks)
    networks_of(proxies, "proxy")
    run(
        Settings(
            db=db,
            host=host,
            port=port,
            address=address,
            webhook_networks=networks,
            proxies=proxies,
            admin_key_file=admin_key_file,
            access_log=access_log,
        )
    )


@contextlib.contextmanager
def opened(db: str, must_exist: bool = True) -> "Iterator[Database]":
    require()
    from .database import Database

    database = Database(db)
    if must_exist and database.sqlite and not pathlib.Path(str(database.url.database)).exists():
        raise ValueError(
            f"db = {str(database.url.database)!r} does not exist; give the file that `tightrope "
            "serve` writes."
        )
    database.migrate()
    try:
        yield database
    finally:
        database.close()


@contextlib.contextmanager
def reading(db: str) -> "Iterator[Connection]":
    with opened(db) as database:
        from sqlalchemy.exc import DatabaseError

        from .database import damaged

        try:
            with database.read() as connection:
                yield connection
        except DatabaseError as error:
            raise damaged(error) from None


def tell(others: Sequence[str], errors: Sequence[str]) -> bool:
    for sentence in others:
        typer.echo(f"  {sentence}")
    for sentence in errors:
        typer.echo(f"  WRONG: {sentence}")
    return bool(errors)


@log.command("verify")
def verify_log(db: Db = "tightrope.db", experiment: Which = None) -> None:
    """Follow the chain of digests of every event. Exit code 1 where anything was changed, taken out
    or cut off."""
    with reading(db) as connection:
        from .log import rows_and_names
        from .recovery import check_snapshots, verify

        failed = False
        for row, name in rows_and_names(connection, experiment):
            verification = verify(connection, row, name)
            erased = f", {verification.blanked} erased" if verification.blanked else ""
            typer.echo(f"{name}: {verification.events} events{erased}, head {verification.digest}")
            damaged, others = check_snapshots(connection, row, name)
            failed |= tell(others, [*verification.errors, *damaged])
    if failed:
        raise typer.Exit(1)


@log.command("replay")
def replay_log(
    db: Db = "tightrope.db",
    experiment: Which = None,
    until: Annotated[
        int | None,
        typer.Option(min=1, help="Stop after this event: the state behind a past decision."),
    ] = None,
    save: Annotated[
        pathlib.Path | None,
        typer.Option(help="Write the state as a session file, for tr.Session.load."),
    ] = None,
) -> None:
    """Compute the state from the first event on and compare it, bit for bit, with every snapshot.
    Exit code 1 where they differ."""
    with reading(db) as connection:
        from .log import rows_and_names
        from .recovery import replay

        failed = False
        for row, name in rows_and_names(connection, experiment):
            replayed = replay(connection, row, name, until)
            state = replayed.journal.experiment
            typer.echo(
                f"{name}: event {state.seq}, {state.session.decided} decisions, "
                f"{state.session.rounds} rewards, {len(state.open)} open, {replayed.compared} "
                f"snapshots compared, fingerprint {replayed.fingerprint}"
            )
            if replayed.disagreements:
                typer.echo(
                    f"  {replayed.disagreements} arms come from the log: this machine would have "
                    "drawn others."
                )
            failed |= tell(replayed.others, replayed.errors)
            if save is not None:
                typer.echo(f"  session: {state.session.save(save)}")
    if failed:
        raise typer.Exit(1)


@log.command("rewrite")
def rewrite_log(db: Db = "tightrope.db") -> None:
    """Write SQLite's file anew, so that its unused bytes have nothing of what was erased; whoever
    decides meanwhile waits."""
    with opened(db) as database:
        from .transfer import rewrite_owed

        outcome = rewrite_owed(database, math.inf)
    if outcome is None or outcome[1]:
        raise ValueError(
            "db could not be written anew; somebody reads it, or the disk is full; try again."
        )
    typer.echo("Nothing is owed any more.")


@log.command("export")
def export_log(
    out: Annotated[
        pathlib.Path,
        typer.Argument(
            help="A .jsonl file for the whole log; .parquet or .dsjson for its decisions."
        ),
    ],
    experiment: One,
    db: Db = "tightrope.db",
) -> None:
    """Write the log, or the table of its decisions: arm, propensity, reward and features."""
    if out.suffix not in (".jsonl", ".parquet", ".dsjson"):
        raise ValueError(f"out = {str(out)!r} must end with one of .jsonl, .parquet, .dsjson.")
    with reading(db) as connection:
        from .log import rows_and_names
        from .transfer import write_dsjson, write_log, write_parquet

        ((row, name),) = rows_and_names(connection, experiment)
        if out.suffix == ".jsonl":
            typer.echo(f"{write_log(connection, row, name, out)} events: {out}")
        else:
            write = write_parquet if out.suffix == ".parquet" else write_dsjson
            typer.echo(f"decisions: {write(connection, row, name, out)}")


@log.command("import")
def import_log(
    source: Annotated[
        pathlib.Path, typer.Argument(help="A .jsonl file that `tightrope log export` wrote.")
    ],
    db: Db = "tightrope.db",
) -> None:
    """Bring an exported log into a database. Chain, bodies and replay are checked; a file that was
    changed is refused as a whole.

    The state behind an erasure cannot be computed again: it comes from the snapshot in the file.
    """
    with opened(db, must_exist=False) as database:
        from .log import COMMAND_LINE, note
        from .settings import wall_clock
        from .transfer import read_log

        if not source.exists():
            raise ValueError(
                f"source = {str(source)!r} does not exist; give a file that `tightrope log "
                "export` wrote."
            )
        with database.write() as connection:
            name, count, seq = read_log(connection, source)
            note(connection, wall_clock(), COMMAND_LINE, name, "import", {"events": count})
    erased = (
        "" if seq is None else f"; rounds were erased, so the snapshot of event {seq} came with it"
    )
    typer.echo(f"{name}: {count} events{erased}")


@keys.command("create")
def create_key(
    role: Annotated[
        str, typer.Argument(help="read, decide or admin; each may do what those before it may.")
    ],
    note: Annotated[str, typer.Option(help="Whose it is.")] = "",
    per_second: Annotated[
        float, typer.Option(help="Decisions, rewards and other requests per second.")
    ] = 100_000.0,
    experiments: Annotated[
        list[str] | None,
        typer.Option(
            help="A name or a pattern, such as 'shop-*', of the experiments it is for; give it "
            "again for more. Default all."
        ),
    ] = None,
    db: Db = "tightrope.db",
    *,
    context: typer.Context,
) -> None:
    """Make a key. It is printed once; the database has only its digest."""
    said = context.get_parameter_source("db")
    # a second database would be of no use to anybody
    must_exist = said is not None and said.name == "DEFAULT"
    with opened(db, must_exist) as database, database.write() as connection:
        from .keys import create

        key = create(connection, role, note, per_second, experiments or None)
    typer.echo(key)


@keys.command("list")
def list_keys(db: Db = "tightrope.db") -> None:
    """All keys, without the keys themselves."""
    with reading(db) as connection:
        from .errors import timestamp
        from .keys import all_keys

        for key in all_keys(connection):
            ended = "" if key.revoked is None else f", revoked {timestamp(key.revoked)}"
            scope = ", ".join(key.experiments or ()) or "all experiments"
            typer.echo(
                f"{key.id:4}  {key.role:6}  {scope}  {key.per_second:g}/s  made "
                f"{timestamp(key.created)}{ended}  {key.note}"
            )


@keys.command("revoke")
def revoke_key(
    id: Annotated[int, typer.Argument(help="Its number in `tightrope keys list`.")],
    db: Db = "tightrope.db",
) -> None:
    """End a key; running services notice within two seconds."""
    with opened(db) as database, database.write() as connection:
        from .keys import revoke

        revoke(connection, id)
    typer.echo(f"key {id} ends within two seconds")


def check_certificate(
    source: Annotated[
        pathlib.Path,
        typer.Argument(help="A certificate, as GET /v1/experiments/NAME/certificate answers it."),
    ],
    db: Db = "tightrope.db",
    public_key: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--public-key",
            help="The service's public key, as GET /v1/public-key answers it; no database is "
            "needed then.",
        ),
    ] = None,
) -> None:
    """Check a certificate: its signature, and that the log still has the event that it ends with.
    Exit code 1 where it fails.

    With --public-key the signature alone, for those who have the certificate and not the log.
    """
    require()
    from .certificate import check, fingerprint, public_key as public_of, read
    from .log import CERTIFYING, digest_at, secret

    try:
        certificate = read(source.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(
            f"source = {str(source)!r} is not a file with a certificate in JSON: {error}"
        ) from None
    if public_key is not None:
        try:
            public = public_key.read_bytes()
        except OSError as error:
            raise ValueError(
                f"public_key = {str(public_key)!r} cannot be read ({error.strerror}); save GET "
                "/v1/public-key there."
            ) from None
        signer = f"the key with the fingerprint {fingerprint(public)}"
        errors = check(certificate, public)
    else:
        signer = "this service"
        with opened(db) as database, database.write() as connection:
            errors = check(certificate, public_of(secret(connection, CERTIFYING)))
            if (
                not errors
                and digest_at(connection, certificate["experiment"], certificate["log"]["events"])
                != certificate["log"]["digest"]
            ):
                errors.append(f"The log's event {certificate['log']['events']} is another one now.")
    for sentence in errors:
        typer.echo(f"WRONG: {sentence}")
    if errors:
        raise typer.Exit(1)
    head = certificate["log"]
    typer.echo(
        f"{certificate['experiment']}: signed by {signer} at {certificate['issued']}, about event "
        f"{head['events']}, {head['digest']}"
    )


def show_audit(
    db: Db = "tightrope.db",
    experiment: Annotated[
        str | None, typer.Option("--experiment", help="Of this experiment only.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(help="Not from before this time, such as 2026-07-01 or 2026-07-01T12:00:00Z."),
    ] = None,
) -> None:
    """Who changed what, as lines of JSON: experiments created and changed, data erased, keys made
    and revoked, sign-ins to the board."""
    import datetime

    try:
        begin = None if since is None else datetime.datetime.fromisoformat(since)
    except ValueError:
        raise ValueError(
            f"since = {since!r} is not a time; give one such as 2026-07-01 or 2026-07-01T12:00:00Z."
        ) from None
    if begin is not None and begin.tzinfo is None:
        begin = begin.replace(tzinfo=datetime.UTC)
    with reading(db) as connection:
        import json

        from .errors import microseconds
        from .log import read_audit

        for entry in read_audit(
            connection, 1, experiment, None if begin is None else microseconds(begin)
        ):
            typer.echo(json.dumps(entry.to_dict(), ensure_ascii=False))


def simulate_traffic(
    url: Annotated[
        str,
        typer.Argument(
            help="Of the service, such as http://127.0.0.1:8080; several with commas between."
        ),
    ],
    key: Annotated[
        str,
        typer.Option(
            envvar="TIGHTROPE_KEY", help="A key that may admin (to create the experiment)."
        ),
    ],
    experiment: Annotated[
        str, typer.Option(help="Name of the experiment; created where it is missing.")
    ] = "shop",
    decisions: Annotated[int, typer.Option(min=1)] = 10_000,
    delay: Annotated[
        int, typer.Option(min=0, help="Decisions after which a sale is heard of, on average.")
    ] = 200,
    batch: Annotated[int, typer.Option(min=1, max=10_000, help="Decisions of one request.")] = 20,
    per_second: Annotated[
        float | None,
        typer.Option(min=0.1, help="Decisions per second; default as fast as it goes."),
    ] = None,
    season: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, help="Swing of demand over the day, which the promise does not cover."
        ),
    ] = 0.0,
    alpha: Annotated[
        float,
        typer.Option(min=0.001, max=0.999, help="Share of the baseline's reward that may be lost."),
    ] = 0.1,
    conversion: Annotated[
        float | None,
        typer.Option(
            min=0.001, max=0.999, help="Share of the sales that may be lost, promised too."
        ),
    ] = None,
    plain: Annotated[
        bool, typer.Option(help="Without the promise and the rollout, to see what they are worth.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """A simulated shop asks for prices, sells, and reports sales late. Prints the true budget,
    which only it knows."""
    require(("httpx",))
    from .client import Client, drive, price_shop

    shop = price_shop(season, alpha, conversion)
    with Client(url.split(","), key, experiment, timeout=60.0) as client:
        if experiment not in client.experiments():
            client.create(
                shop.spec(experiment, guarded=not plain, rollout=not plain, seed=seed + 1)
            )
        every = max(decisions // 10, 1)

        def tell(count: int, budget: float) -> None:
            if count // every > (count - batch) // every:
                typer.echo(f"{count:8} decisions, true budget {budget:8.2f}")

        truth = drive(
            client,
            shop,
            decisions,
            delay=delay,
            batch=batch,
            seed=seed,
            per_second=per_second,
            progress=tell,
        )
    typer.echo(
        f"{truth.decisions} decisions and {truth.rewards} rewards in {truth.seconds:.1f} s, at "
        f"most {truth.most_open} open at once"
    )
    typer.echo(
        f"true mean reward {truth.mean:.4f}, of the best price {truth.best:.4f}, baseline in "
        f"{truth.baseline_share:.1%} of the decisions"
    )
    verdict = (
        "there was no promise"
        if plain
        else f"the promise was {'kept in every round' if truth.lowest >= 0 else 'BROKEN'}"
    )
    if conversion is not None:
        kept = "kept in every round" if truth.lowest_sales >= 0 else "BROKEN"
        typer.echo(f"true budget of sales {truth.lowest_sales:.2f} at its lowest: {kept}")
    typer.echo(
        f"true budget {truth.budget:.2f} at the end, {truth.lowest:.2f} at its lowest: {verdict}"
    )


def register(app: typer.Typer) -> None:
    app.command()(serve)
    app.command("certificate")(check_certificate)
    app.command("audit")(show_audit)
    app.command("simulate-traffic")(simulate_traffic)
    app.add_typer(log, name="log")
    app.add_typer(keys, name="keys")
