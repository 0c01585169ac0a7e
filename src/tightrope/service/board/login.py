"""Signing in: a key is exchanged for a random cookie, of which the database has the digest."""

import hashlib
import hmac

from fastapi import Request, Response

from ..domain.errors import Refused
from ..runtime.keys import SESSION_SECONDS, Key
from ..runtime.service import Service
from ..runtime.telemetry import logger

COOKIE, PATH = "tightrope_board", "/board"


def address_of(request: Request) -> str:
    """Where a request comes from, as far as a trusted proxy or the connection says it."""
    return "unknown" if request.client is None else request.client.host


async def key_of_form(service: Service, request: Request, text: str) -> Key:
    """The key that somebody signs in with. Refused where it is not known, which the audit trail notes, or after too many of those."""
    service.keys.check_tries(address_of(request))
    await service.in_thread("keys", service.keys.refresh)
    try:
        return service.keys.check(text, "read")
    except Refused as error:
        if error.status == 401:
            await service.in_thread("keys", service.keys.fail_to_sign_in, address_of(request))
        raise


async def sign_in(service: Service, request: Request, response: Response, key: Key) -> None:
    cookie, secure = await service.in_thread("keys", service.keys.sign_in, key), request.url.scheme == "https"
    response.set_cookie(COOKIE, cookie, SESSION_SECONDS, path=PATH, secure=secure, httponly=True, samesite="strict")
    if not secure and request.headers.get("x-forwarded-proto") == "https":
        remedy = f"start with --proxy {address_of(request)} if that is your proxy"
        logger().warning("cookie not secure: X-Forwarded-Proto is not of a trusted proxy", address=address_of(request), remedy=remedy)


async def signed_in(service: Service, request: Request, role: str = "read") -> Key:
    """The key of a browser. Refused with 401 where it has not signed in, or not lately, and with 403 where its key may not do this, or not
    with the experiment of the page."""
    cookie = request.cookies.get(COOKIE, "")
    if service.keys.stale():
        await service.refresh_keys(service.keys.knows_session(cookie))
    return service.keys.check_session(cookie, role, request.path_params.get("name"))


def token(request: Request) -> str:
    """The token that a form must send along: another page, which does not know the cookie, cannot know it."""
    return hashlib.sha256(b"form " + request.cookies.get(COOKIE, "").encode()).hexdigest()


def check_token(request: Request, form_token: str) -> None:
    """Refused with 403 unless a form comes from the board's own page."""
    if not hmac.compare_digest(token(request).encode(), form_token.encode()):
        raise Refused(403, "The form is not one of this page; load the page again.")
