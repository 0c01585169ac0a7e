"""Addresses of the board. They are not part of the interface for programs, so OpenAPI does not list
them."""

import asyncio
import functools
import hashlib
import hmac
import importlib.resources
import json
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar
from urllib.parse import parse_qs, quote

import jinja2
import yaml
from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from pydantic import BaseModel, ValidationError

from . import JsonObject, board_view, commands, outbox
from .board_view import certificate_chart, page_of, short, signed
from .commands import issue
from .errors import Refused, RepeatedName, not_valid, once_each
from .http import service_of
from .keys import SESSION_SECONDS, Key, covered
from .outbox import parts_of
from .requests import ArmChange, ArmsRequest, ModeChange
from .service import Service
from .settings import logger
from .spec import ExperimentSpec
from .writer import Transaction

# Signing in: a key is exchanged for a random cookie, of which the database has the digest.


COOKIE, PATH = "tightrope_board", "/board"


async def signed_in(service: Service, request: Request, role: str = "read") -> Key:
    """The key of a browser. Refused with 401 where it has not signed in, or not lately, and with
    403 where its key may not do this, or not with the experiment of the page."""
    cookie = request.cookies.get(COOKIE, "")
    if service.keys.stale():
        await service.refresh_keys(service.keys.knows_session(cookie))
    return service.keys.check_session(cookie, role, request.path_params.get("name"))


def token(request: Request) -> str:
    """The token that a form must send along: another page, which does not know the cookie, cannot
    know it."""
    return hashlib.sha256(b"form " + request.cookies.get(COOKIE, "").encode()).hexdigest()


def check_token(request: Request, form_token: str) -> None:
    """Refused with 403 unless a form comes from the board's own page."""
    if not hmac.compare_digest(token(request).encode(), form_token.encode()):
        raise Refused(403, "The form is not one of this page; load the page again.")


# The spec of a new experiment as it is typed: JSON that begins with a template, and is refused in
# the API's words.


M = TypeVar("M", bound=BaseModel)


# by name: the question that a spec answers, a note how it does, and the spec
TEMPLATES: dict[str, JsonObject] = yaml.safe_load(
    importlib.resources.files("tightrope_service").joinpath("templates.yaml").read_text("utf-8")
)


def spec_of(text: str) -> ExperimentSpec:
    """The spec of a text. Raises Refused with the API's sentence."""
    try:
        value = once_each(text)
    except RepeatedName as error:
        raise Refused(422, f"spec: {error}", "spec") from None
    except (ValueError, RecursionError) as error:
        where = (
            f": {error.msg} at line {error.lineno}, column {error.colno}"
            if isinstance(error, json.JSONDecodeError)
            else ""
        )
        raise Refused(
            422, f'spec is not JSON{where}; it must be an object such as {{"name": ..}}.', "spec"
        ) from None
    if not isinstance(value, dict):
        raise Refused(422, 'spec must be a JSON object such as {"name": ..}.', "spec")
    return read_as(ExperimentSpec, value)


def arms_request(text: str) -> ArmsRequest:
    """New arms, a line each: an id, or JSON. Raises Refused with the API's sentence."""
    arms: list[JsonObject] = []
    for one in filter(None, map(str.strip, text.split("\n"))):
        try:
            arms.append(json.loads(one) if one.startswith("{") else {"id": one})
        except (ValueError, RecursionError):
            raise Refused(
                422,
                f"arms has the line {one[:100]!r}, which begins like JSON and is not; give an id "
                "a line.",
                "arms",
            ) from None
    return read_as(ArmsRequest, {"arms": arms})


def read_as(model: type[M], value: JsonObject) -> M:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise not_valid(error.errors(include_url=False, include_input=False)) from None


router = APIRouter(prefix=PATH, include_in_schema=False)

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src "
    "'self'; "
    "img-src "
    "'self'; connect-src "
    "'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
STATIC = {
    "board.css": "text/css",
    "board.js": "text/javascript",
    "charts.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
SECTIONS = (
    "warnings",
    "answer",
    "tiles",
    "pictures",
    "arms",
    "segments",
    "decisions",
    "rollout",
)  # parts of the page that are kept up to date


@functools.cache
def templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tightrope_service"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "short": short,
        "signed": signed,
        "quoted": lambda text: quote(str(text), safe=""),
    }
    return environment


def page(template: str, status: int = 200, /, **variables: object) -> Response:
    """A page with the headers that keep others' scripts out."""
    return HTMLResponse(
        templates().get_template(template).render(path=PATH, **variables), status, HEADERS
    )


async def form(request: Request) -> dict[str, str]:
    try:
        fields = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=20)
    except ValueError:
        raise Refused(
            413, "The form has more fields than any of this service; send its own."
        ) from None
    return {name: values[0] for name, values in fields.items()}


def behind_login(show: Callable[..., Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
    """A page for those who have signed in; others sign in first. A refusal is shown on a page.
    request.state.key: the reader's."""

    @functools.wraps(show)
    async def wrapper(request: Request, **arguments: object) -> Response:
        service = service_of(request)
        try:
            request.state.key = await signed_in(service, request)
        except Refused as error:
            if error.status != 403:
                goal = quote(request.url.path, safe="")
                return RedirectResponse(f"{PATH}/login?next={goal}", 303, HEADERS)
            return page("message.html", error.status, message=error.message, token=token(request))
        try:
            return await show(request=request, **arguments)
        except Refused as error:
            return page("message.html", error.status, message=error.message, token=token(request))

    return wrapper


@router.get("/static/{file}")
async def static(file: str) -> Response:
    if file not in STATIC:
        raise Refused(404, f"{file[:100]!r} is not a file of the board.")
    return Response(
        (importlib.resources.files("tightrope_service") / "static" / file).read_bytes(),
        media_type=STATIC[file],
        headers=HEADERS | {"Cache-Control": "no-cache"},
    )


@router.get("/login")
async def login_page(request: Request) -> Response:
    return page("login.html", wrong=None, next=onward(request.query_params.get("next", "")))


@router.post("/login")
async def login(request: Request) -> Response:
    service, fields = service_of(request), await form(request)
    goal = onward(fields.get("next", ""))
    # as far as a trusted proxy or the connection says it
    address = "unknown" if request.client is None else request.client.host
    try:
        service.keys.check_tries(address)
        await service.in_thread("keys", service.keys.refresh)
        key = service.keys.check(fields.get("key", "").strip(), "read")
    except Refused as error:
        if error.status == 401:  # which the audit trail notes
            await service.in_thread("keys", service.keys.fail_to_sign_in, address)
        return page("login.html", error.status, wrong=error.message, next=goal)
    cookie = await service.in_thread("keys", service.keys.sign_in, key)
    secure = request.url.scheme == "https"
    if not secure and request.headers.get("x-forwarded-proto") == "https":
        logger().warning(
            "cookie not secure: X-Forwarded-Proto is not of a trusted proxy",
            address=address,
            remedy=f"start with --proxy {address} if that is your proxy",
        )
    answer = RedirectResponse(goal, 303, HEADERS)
    answer.set_cookie(
        COOKIE, cookie, SESSION_SECONDS, path=PATH, secure=secure, httponly=True, samesite="strict"
    )
    return answer


def onward(goal: str) -> str:
    return goal if goal.startswith(PATH + "/") and "\\" not in goal and "//" not in goal else PATH


@router.post("/logout")
async def logout(request: Request) -> Response:
    """End the cookie, for whoever has a copy of it too."""
    service = service_of(request)
    check_token(request, (await form(request)).get("token", ""))
    await service.in_thread("keys", service.keys.sign_out, request.cookies[COOKIE])
    answer = RedirectResponse(f"{PATH}/login", 303, HEADERS)
    answer.delete_cookie(COOKIE, path=PATH)
    return answer


@router.get("")
@behind_login
async def all_experiments(request: Request) -> Response:
    service = service_of(request)
    listed, archived, with_archived = [], 0, "archived" in request.query_params
    for row in await asyncio.to_thread(covered, service.database, request.state.key):
        name = str(row["name"])
        try:
            one = await service.ask(name, commands.describe_standing)
        except Refused as error:  # another process has it, or its log cannot be read
            one = {"name": name, "refused": error.message}
        if one.get("status") == "archived":
            archived += 1
        if with_archived == (one.get("status") == "archived"):
            listed.append(one)
    may = request.state.key.role == "admin"
    return page(
        "experiments.html",
        experiments=listed,
        archived=archived,
        asked=with_archived,
        may=may,
        hooks=await asyncio.to_thread(webhook_lines, service, request.state.key) if may else [],
        token=token(request),
    )


def webhook_lines(service: Service, key: Key) -> list[JsonObject]:
    """The webhooks that a key may see, and why the last message of each did not arrive. Addresses
    may be secrets: only their hosts."""
    with service.database.read() as connection:
        counts, lines = outbox.counts(connection), []
        for hook in outbox.all_webhooks(connection):
            if key.covers_all(hook.experiments):
                line = outbox.described(hook, counts) | {"host": parts_of(hook.url)[1]}
                lines.append(line | {"error": outbox.last_error(connection, hook.id)})
    return lines


@router.get("/new")
@behind_login
async def new_page(request: Request) -> Response:
    key = await signed_in(service_of(request), request, "admin")
    chosen = request.query_params.get("template", "safe")
    if chosen not in TEMPLATES:
        raise Refused(
            404, f"template = {chosen[:100]!r} is none of {', '.join(TEMPLATES)}.", "template"
        )
    return spec_page(
        request, key, json.dumps(TEMPLATES[chosen]["spec"], indent=2, ensure_ascii=False), chosen
    )


def spec_page(
    request: Request, key: Key, typed: str, chosen: str = "", refused: Refused | None = None
) -> Response:
    """The spec as it was typed. refused: why there is no experiment of it."""
    return page(
        "new.html",
        200 if refused is None else refused.status,
        typed=typed,
        chosen=chosen,
        templates=TEMPLATES,
        refused=None if refused is None else refused.message,
        experiments=key.experiments,
        token=token(request),
    )


@router.post("/new")
@behind_login
async def new(request: Request) -> Response:
    service, fields = service_of(request), await form(request)
    key = await signed_in(service, request, "admin")
    check_token(request, fields.get("token", ""))
    typed = fields.get("spec", "").replace("\r\n", "\n")
    try:
        spec = spec_of(typed)
        key.check(spec.name)
        await commands.create_experiment(service, spec, key.author)
    except Refused as error:
        return spec_page(request, key, typed, refused=error)
    return to_experiment(spec.name)


def to_experiment(name: str) -> Response:
    return RedirectResponse(f"{PATH}/experiments/{quote(name, safe='')}", 303, HEADERS)


@router.get("/experiments/{name}")
@behind_login
async def experiment(request: Request, name: str) -> Response:
    return await experiment_page(request, name, request.state.key)


async def experiment_page(
    request: Request, name: str, key: Key, refused: Refused | None = None, typed: str = ""
) -> Response:
    """The page of an experiment. refused: why arms were not added; typed: those arms."""
    status = 200 if refused is None else refused.status
    variables = await page_variables(service_of(request), name, key)
    return page(
        "experiment.html",
        status,
        **variables,
        token=token(request),
        refused=None if refused is None else refused.message,
        typed=typed,
    )


async def page_variables(service: Service, name: str, key: Key) -> JsonObject:
    standing = await service.ask(name, commands.describe_standing)
    variables: JsonObject = await service.read_history(
        name, standing["seq"], functools.partial(page_of, standing)
    )
    return variables | {"may": key.role == "admin" and standing["status"] != "archived"}


@router.get("/experiments/{name}/parts")
async def parts(request: Request, name: str) -> Response:
    """The parts of the page that change, for a page that shows the event `seq`; 204 where nothing
    is new."""
    service = service_of(request)
    key = await signed_in(service, request)
    owned = service.writer.owned.get(name)
    if owned is not None and str(owned.experiment.seq) == request.query_params.get("seq"):
        return Response(status_code=204, headers=HEADERS)
    variables = await page_variables(service, name, key)

    def rendered() -> JsonObject:
        return {
            part: templates().get_template(f"part_{part}.html").render(path=PATH, **variables)
            for part in SECTIONS
        }

    return JSONResponse(
        {"seq": variables["seq"], "parts": await asyncio.to_thread(rendered)}, headers=HEADERS
    )


@router.get("/experiments/{name}/lead")
async def lead(request: Request, name: str) -> Response:
    service = service_of(request)
    await signed_in(service, request)
    standing = await service.ask(name, commands.describe_standing)
    read = functools.partial(board_view.verdict_alone, standing)
    return page("lead.html", verdict=await service.read_history(name, standing["seq"], read))


@router.get("/experiments/{name}/certificate")
@behind_login
async def certificate_page(request: Request, name: str) -> Response:
    certificate = await issue(service_of(request), name)
    return page(
        "certificate.html",
        certificate=certificate,
        picture=certificate_chart(certificate),
        token=token(request),
    )


@router.get("/experiments/{name}/certificate.json")
async def certificate_file(request: Request, name: str) -> Response:
    service = service_of(request)
    await signed_in(service, request)
    return Response(
        json.dumps(await issue(service, name), indent=1, ensure_ascii=False),
        media_type="application/json",
        headers=HEADERS | {"Content-Disposition": 'attachment; filename="certificate.json"'},
    )


@router.get("/experiments/{name}/confirm")
@behind_login
async def confirm(request: Request, name: str) -> Response:
    service, query = service_of(request), dict(request.query_params)
    await signed_in(service, request, "admin")
    return page(
        "confirm.html", name=name, token=token(request), **await proposal(service, name, query)
    )


class Change(NamedTuple):
    """Something that the board can do with an experiment. asked: the new mode, or status of an arm.
    check: whether it would change anything; Refused where it may not be. make: does it."""

    asked: ModeChange | ArmChange | None
    check: Callable[[Transaction], bool]
    make: Callable[[Transaction], JsonObject]


def change_of(action: str, texts: dict[str, str]) -> Change:
    if action == "mode":
        mode = mode_change(texts)
        return Change(
            mode,
            lambda at: commands.check_mode_change(at, mode),
            lambda at: commands.change_mode(at, mode, texts.get("seen")),
        )
    if action == "arm":
        try:
            status = ArmChange.model_validate({"status": texts.get("status")})
        except ValueError:
            raise Refused(422, "status must be active, masked or retired.", "status") from None
        return Change(
            status,
            lambda at: commands.check_arm_change(at, texts.get("arm", ""), status),
            lambda at: commands.change_arm(at, texts.get("arm", ""), status),
        )
    if action in commands.STATUS_CHANGES:
        return Change(
            None,
            lambda at: commands.check_status_change(at, action),
            lambda at: commands.change_status(at, action),
        )
    raise Refused(404, f"{action[:100]!r} is not something the board can do.")


async def proposal(service: Service, name: str, query: dict[str, str]) -> JsonObject:
    """The question that a change is: what it will do, and the form that does it. Raises Refused
    where it may not be."""
    action, fields = query.get("action", ""), {}
    change = change_of(action, query)
    changes_it, standing = await service.ask(
        name, lambda at: (change.check(at), commands.describe_standing(at))
    )
    if isinstance(change.asked, ModeChange):
        mode = change.asked
        if mode.mode == "capped" and mode.share is None:
            mode = mode.model_copy(update={"share": standing["share"]})
        fields = {"mode": mode.mode, "why": mode.why, "seen": standing["rollout"]["mode"]}
        if mode.share is not None:
            fields["share"] = f"{100 * mode.share:.10g}"
        question, button = f"Go to mode {mode.mode}?", f"Go to {mode.mode}"
        sentences = board_view.of_mode(mode, standing)
    elif isinstance(change.asked, ArmChange):
        arm, status = query.get("arm", ""), change.asked
        fields = {"arm": arm, "status": status.status}
        verb = {"active": "Restore", "masked": "Mask", "retired": "Retire"}[status.status]
        question, button = f"{verb} the arm {arm}?", f"{verb} the arm"
        sentences = await service.read_history(
            name,
            standing["seq"],
            lambda history: board_view.of_arm(arm, status, standing, history),
        )
    else:
        verb = action.capitalize()
        question, button = f"{verb} the experiment {name}?", f"{verb} the experiment"
        sentences = board_view.of_status(action, standing)
    return {
        "action": action,
        "fields": fields,
        "question": question,
        "button": button,
        "sentences": sentences,
        "changes": changes_it,
    }


@router.post("/experiments/{name}/{action}")
async def act(request: Request, name: str, action: str) -> Response:
    """Change the mode or an arm, add arms, pause, resume or archive: for keys that may admin, from
    the board's own form."""
    service, fields = service_of(request), await form(request)
    try:
        who = (await signed_in(service, request, "admin")).author
        check_token(request, fields.get("token", ""))
        if action == "arms":
            return await new_arms(request, name, fields)
        await service.ask(name, change_of(action, fields).make, author=who)
    except Refused as error:
        return page("message.html", error.status, message=error.message, token=token(request))
    return to_experiment(name)


async def new_arms(request: Request, name: str, fields: dict[str, str]) -> Response:
    service, typed = service_of(request), fields.get("arms", "").replace("\r\n", "\n")
    key = await signed_in(service, request, "admin")
    try:
        await commands.add_arms_in_time(service, name, arms_request(typed), key.author)
    except Refused as error:
        return await experiment_page(request, name, key, error, typed)
    return to_experiment(name)


def mode_change(texts: dict[str, str]) -> ModeChange:
    fields: JsonObject = {"mode": texts.get("mode"), "why": texts.get("why", "")}
    try:
        if texts.get("share"):
            fields["share"] = float(texts["share"]) / 100.0
        return ModeChange.model_validate(fields)
    except ValueError:
        raise Refused(
            422,
            "mode must be one of the four, and its share a percentage above 0 and below 100.",
            "mode",
        ) from None
