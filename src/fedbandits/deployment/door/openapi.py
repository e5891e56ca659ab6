"""The door's OpenAPI document, made from msgspec's schemas."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from fedbandits._version import __version__
from fedbandits.deployment.door.problems import Problem, ProblemDetails
from fedbandits.deployment.door.routes import MOST_KEY, Route

PATH = "/openapi.json"
#: The server is the one that serves this document.
_SERVERS = [{"url": "/", "description": "The door that this document came from."}]
_KEY = {"type": "string", "maxLength": MOST_KEY, "pattern": "^[!-~]*$"}
_REF = "#/components/schemas/{name}"
_ABOUT = (
    "Decisions for applications, made with what a federation has learned together. Requests need "
    "a token of this party. What is refused is answered with problem details (RFC 9457), and has "
    "changed nothing; programs go by `type`. An answer has the header Idempotency-Key of its "
    "request, if that has one. A path without a route is `not-found` or, where other parties have "
    "it, `not-offered` (404); another method is `method-not-allowed` (405); a request line with "
    "headers beyond the limit is answered with 431."
)


def document(member: str, federation: str, routes: list[Route]) -> dict[str, Any]:
    """Make the OpenAPI document of a member's door, which answers all ``routes``."""
    types = {kind for route in routes for kind in (route.body, route.answer) if _is_struct(kind)}
    ordered = [*sorted(types, key=lambda kind: str(kind.__name__)), ProblemDetails]
    _, schemas = msgspec.json.schema_components(ordered, ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"{member}, of the federation {federation}",
            "version": __version__,
            "description": _ABOUT,
        },
        "servers": _SERVERS,
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    last = re.sub(r"\W+", "_", route.path).strip("_")
    operation: dict[str, Any] = {
        "operationId": f"{route.method.lower()}_{last}",
        "summary": route.summary,
        "security": [] if route.scope is None else [{"token": []}],
        "responses": _responses(route),
    }
    if route.body is not None:
        content = {"application/json": {"schema": _schema(route.body)}}
        operation["requestBody"] = {"required": True, "content": content}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    parameters += [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in route.query.items()
    ]
    if route.takes_key:
        about = "Names the request: sent again with the same name it is the same request."
        header = {"name": "Idempotency-Key", "in": "header", "required": False, "schema": _KEY}
        parameters.append(header | {"description": about})
    if parameters:
        operation["parameters"] = parameters
    return operation


def _responses(route: Route) -> dict[str, Any]:
    answered: dict[str, Any] = {"description": route.summary}
    if route.answer is not None:
        answered["content"] = {route.kind.decode(): {"schema": _schema(route.answer)}}
    if route.takes_key:
        about = "That of the request, if it had one."
        answered["headers"] = {"Idempotency-Key": {"description": about, "schema": _KEY}}
    responses = {str(route.status): answered}
    if route.empty:
        responses["204"] = {"description": route.empty}
    by_status: dict[int, list[Problem]] = {}
    for problem in sorted(route.problems, key=lambda problem: problem.status):
        by_status.setdefault(problem.status, []).append(problem)
    for status, problems in by_status.items():
        responses[str(status)] = _refusal(problems)
    return responses


def _refusal(problems: list[Problem]) -> dict[str, Any]:
    names = {"properties": {"type": {"enum": [problem.type for problem in problems]}}}
    schema = {"allOf": [_schema(ProblemDetails), names]}
    return {
        "description": "; ".join(f"`{problem.name}`: {problem.title}" for problem in problems),
        "content": {"application/problem+json": {"schema": schema}},
    }


def _schema(kind: Any) -> dict[str, Any]:
    if _is_struct(kind):
        return {"$ref": _REF.format(name=kind.__name__)}
    return {"type": "string"} if kind is str else {"type": "object"}


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
