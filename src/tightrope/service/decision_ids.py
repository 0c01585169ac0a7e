"""Ids of decisions, made where a client gives none, and by the client library."""

import random
import secrets
import time

_RANDOM = random.Random(secrets.randbits(256))  # ids are not secret, only distinct


def new_id() -> str:
    """An id that nobody else makes; later ones sort behind earlier ones, which keeps the database's index compact."""
    return f"{time.time_ns() // 1_000_000:012x}{_RANDOM.getrandbits(80):020x}"
