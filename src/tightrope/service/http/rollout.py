"""The rollout of a policy: its mode, what is known of it, and the certificate."""

from fastapi import APIRouter, Response

from ..domain.requests import ModeChange
from ..domain.signatures import public_key
from ..runtime import commands
from ..runtime.certificates import issue
from .answers import CertificateAnswer, RolloutAnswer
from .common import Name, Served, Who, answer, needs, replies

router = APIRouter(prefix="/v1/experiments/{name}", tags=["rollout"])
public_router = APIRouter(tags=["rollout"])


@router.get("/mode", dependencies=[needs("read")], responses=replies(RolloutAnswer, 404))
async def read_mode(name: Name, service: Served) -> Response:
    """The mode, the rules by which it will change, and what the policy and the baseline earn as far as the log can tell."""
    return answer(await service.ask(name, commands.describe_rollout))


@router.post("/mode", dependencies=[needs("admin")], responses=replies(RolloutAnswer, 404, 409))
async def change_mode(name: Name, change: ModeChange, service: Served, who: Who) -> Response:
    """Go on to another mode, or back. After an automatic return this also lets the rules work again."""
    return answer(await service.ask(name, lambda transaction: commands.change_mode(transaction, change), author=who))


@router.get("/certificate", dependencies=[needs("read")], responses=replies(CertificateAnswer, 404))
async def read_certificate(name: Name, service: Served) -> Response:
    """The experiment's promise, its assumptions and its present state, signed and bound to the head of the log."""
    return answer(await issue(service, name))


@public_router.get("/v1/public-key", responses=replies(None))
async def read_public_key(service: Served) -> Response:
    """The key that checks certificates of this service, in PEM. Whoever is shown a certificate may ask for it: it needs no key."""
    return Response(public_key(service.private_key), media_type="text/plain")
