"""Signing in: a key is exchanged for a signed cookie, which names the key and does not hold it."""

import secrets
import time

from fastapi import Request, Response

from ..domain.errors import Refused
from ..domain.signatures import agrees, signature
from ..runtime.keys import Key
from ..runtime.service import Service

COOKIE, PATH = "tightrope_board", "/board"
SESSION_SECONDS = 12 * 3600  # seconds


def sign_in(service: Service, request: Request, response: Response, key: Key) -> None:
    """Give the browser its cookie."""
    text = f"{key.id}.{int(time.time()) + SESSION_SECONDS}.{secrets.token_hex(16)}"
    cookie = f"{text}.{signature(service.secret, b'cookie ' + text.encode())}"
    response.set_cookie(COOKIE, cookie, SESSION_SECONDS, path=PATH, secure=request.url.scheme == "https", httponly=True, samesite="strict")


def signed_in(service: Service, request: Request, role: str = "read") -> Key:
    """The key of a browser. Refused with 401 where it has not signed in, or not lately, and with 403 where its key may not do this, or not
    with the experiment of the page."""
    text, _, signed = request.cookies.get(COOKIE, "").rpartition(".")
    parts = text.split(".")
    if service.keys.signed_out(request.cookies.get(COOKIE, "")):
        raise Refused(401, "Sign in with a key.")
    if len(parts) != 3 or not agrees(service.secret, b"cookie " + text.encode(), signed) or float(parts[1]) < time.time():
        raise Refused(401, "Sign in with a key.")
    return service.keys.check_id(int(parts[0]), role, request.path_params.get("name"))


def token(service: Service, request: Request) -> str:
    """The token that a form must send along: another page cannot know it."""
    return signature(service.secret, b"form " + request.cookies.get(COOKIE, "").encode())


def check_token(service: Service, request: Request, form_token: str) -> None:
    """Refused with 403 unless a form comes from the board's own page."""
    if not agrees(service.secret, b"form " + request.cookies.get(COOKIE, "").encode(), form_token):
        raise Refused(403, "The form is not one of this page; load the page again.")
