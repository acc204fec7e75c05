"""`learnable view`: the page of reports over a whole store, for this machine alone and for reading alone."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from learnable.data.errors import LearnableError
from learnable.viewing.library import Library
from learnable.viewing.packing import NO_NETWORK, OWN_SERVER, read_page
from learnable.viewing.queries import Query

LOOPBACK = "127.0.0.1"
HOSTS = (LOOPBACK, "localhost")  # by which it answers: a name that others made to point here is refused
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
PAGE_ROWS = 1_000  # rows of an answer at most

Answer = Callable[[Library, Request], object]


def make_app(library: Library, token: str) -> Starlette:
    """Return the application. Whoever asks has to know the token: in the page's address, then in a header."""

    def is_known(given: str) -> bool:
        return secrets.compare_digest(given.encode(), token.encode())

    async def show_page(request: Request) -> Response:
        if not is_known(request.query_params.get("token", "")):
            return _refuse()
        return HTMLResponse(read_page().replace(NO_NETWORK, OWN_SERVER), headers=HEADERS)

    def answer(found: Answer) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            if not is_known(request.headers.get("x-token", "")):
                return _refuse()
            try:
                return JSONResponse(await run_in_threadpool(found, library, request), headers=HEADERS)
            except (LearnableError, ValueError, KeyError) as error:
                return JSONResponse({"error": str(error)}, status_code=400, headers=HEADERS)

        return respond

    routes = [Route(f"/api/{name}", answer(found), methods=["GET"]) for name, found in ANSWERS.items()]
    guards = [
        Middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS)),
        Middleware(GZipMiddleware, minimum_size=2_000),
    ]
    return Starlette(routes=[Route("/", show_page, methods=["GET"]), *routes], middleware=guards)


def _refuse() -> Response:
    return JSONResponse(
        {"error": "open the address that `learnable view` printed: it has a token"}, status_code=403, headers=HEADERS
    )


def _count(library: Library, request: Request) -> object:
    total, searched = library.count(request.query_params["set"], Query.parse(request.query_params))
    return {"total": total, "searched": searched}


def _list_rows(library: Library, request: Request) -> object:
    given = request.query_params
    start = max(0, int(given.get("from", 0)))
    stop = min(int(given.get("to", start)), start + PAGE_ROWS)
    return library.list_rows(given["set"], Query.parse(given), start, stop)


ANSWERS: dict[str, Answer] = {
    "sets": lambda library, _: library.list_sets(),
    "summary": lambda library, request: library.summarise(request.query_params["set"]),
    "count": _count,
    "rows": _list_rows,
    "find": lambda library, request: {
        "place": library.find_place(
            request.query_params["set"], Query.parse(request.query_params), request.query_params["id"]
        )
    },
    "row": lambda library, request: library.read_row(request.query_params["set"], request.query_params["id"]),
    "prompt": lambda library, request: library.read_prompt(request.query_params["set"], request.query_params["id"]),
    "explain": lambda library, request: library.explain(
        request.query_params["set"], request.query_params["id"], int(request.query_params["index"])
    ),
    "stamp": lambda library, _: {"stamp": library.stamp()},
    "live": lambda library, _: library.list_live(),
}
