"""`/docs`: every operation of the API on one page, from its OpenAPI description, without scripts from elsewhere."""

import json
from typing import NamedTuple

from fastapi import Request, Response

from ...core.types import JsonObject
from .routes import page

FIRST_REFUSAL = 400  # statuses from here on are refusals


class FieldLine(NamedTuple):
    """A field of a body: its name, what it may be, whether it must be there, and what it means."""

    name: str
    type: str
    required: bool
    description: str


class Operation(NamedTuple):
    """One call. example: a body, as JSON. answers: the statuses with what they mean."""

    method: str
    path: str
    description: str
    parameters: list[FieldLine]
    fields: list[FieldLine]
    example: str
    answers: list[tuple[str, str]]

    @property
    def slug(self) -> str:
        """Its place on the page."""
        return f"{self.method}{self.path}".replace("/", "-").replace("{", "").replace("}", "").replace(":", "-")


def operations_page(request: Request) -> Response:
    """The page of the running application."""
    schema: JsonObject = request.app.openapi()
    groups: dict[str, list[Operation]] = {}
    for path, methods in schema["paths"].items():
        for method, call in methods.items():
            groups.setdefault(call["tags"][0], []).append(operation(method.upper(), path, call, schema["components"]["schemas"]))
    return page("operations.html", groups=groups, version=schema["info"]["version"])


def operation(method: str, path: str, call: JsonObject, models: JsonObject) -> Operation:
    """One call of the description. models: by name."""
    body = call.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    model = models.get(name_of(body), body)
    required = set(model.get("required", ()))
    fields = [
        FieldLine(name, words_of(one), name in required, one.get("description", "")) for name, one in model.get("properties", {}).items()
    ]
    parameters = [
        FieldLine(one["name"], words_of(one["schema"]), one.get("required", False), one.get("description", ""))
        for one in call.get("parameters", ())
    ]
    examples = model.get("examples", [])
    answers = [(status, "done" if int(status) < FIRST_REFUSAL else one["description"]) for status, one in call["responses"].items()]
    return Operation(
        method, path, call["description"] if "description" in call else call["summary"], parameters, fields,
        json.dumps(examples[0], indent=2, ensure_ascii=False) if examples else "", answers,
    )  # fmt: skip


def name_of(schema: JsonObject) -> str:
    """The model that a schema refers to; empty where it refers to none."""
    return str(schema.get("$ref", "")).rpartition("/")[2]


def words_of(schema: JsonObject) -> str:
    """The type of a value, in a few words."""
    if "$ref" in schema:
        return name_of(schema)
    if "enum" in schema:
        return " or ".join(json.dumps(one) for one in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    several = schema.get("anyOf") or schema.get("oneOf")
    if several:
        return " or ".join(dict.fromkeys(map(words_of, several)))
    if schema.get("type") == "array":
        return f"list of {words_of(schema['items'])}" if schema.get("items") else "list"
    return str(schema.get("type", "any"))
