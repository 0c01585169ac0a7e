"""A PostgreSQL server in a temporary folder, on a free port, as a user that is not root."""

import contextlib
import glob
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time


def programs() -> pathlib.Path:
    """Where initdb is; installed by `install_postgres.sh` where it is missing."""
    subprocess.run(
        ["sh", str(pathlib.Path(__file__).parent / "install_postgres.sh")],
        check=True,
        capture_output=True,
    )
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb")) or [str(shutil.which("initdb"))]
    return pathlib.Path(found[-1]).parent


def as_user() -> dict[str, object]:
    """Arguments of subprocess that give up root."""
    if os.geteuid():
        return {}
    name = "postgres" if any(entry.pw_name == "postgres" for entry in pwd.getpwall()) else "nobody"
    return {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}


@contextlib.contextmanager
def server(durable=True):
    """The URL of a new server's database. durable: whether what it says survives a power cut, which
    costs time."""
    bin, user = programs(), as_user()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tightrope-pg-", dir="/tmp"))
    if user:
        shutil.chown(folder, user["user"])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/", **user}
    subprocess.run(
        [bin / "initdb", "-D", folder / "data", "-U", "tightrope", "-A", "trust", "-E", "UTF8"],
        check=True,
        **quiet,
    )
    options = (
        []
        if durable
        else ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]
    )
    process = subprocess.Popen(
        [
            bin / "postgres",
            "-D",
            folder / "data",
            "-p",
            str(port),
            "-h",
            "127.0.0.1",
            "-k",
            str(folder),
            *options,
        ],
        **quiet,
    )
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.5):
                break
            time.sleep(0.05)
        url = f"postgresql://tightrope@127.0.0.1:{port}/postgres"
        import psycopg

        for _ in range(100):
            try:
                psycopg.connect(url).close()
                break
            except psycopg.OperationalError:
                time.sleep(0.05)
        yield url
    finally:
        process.send_signal(signal.SIGQUIT)  # at once: the folder is deleted
        process.wait(20)
        shutil.rmtree(folder, ignore_errors=True)
