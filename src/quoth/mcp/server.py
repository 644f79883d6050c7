"""The MCP server: handlers that work in threads and return errors as results; documents are its resources."""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import anyio
import anyio.to_thread
import mcp_types as types
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError

from quoth import __version__
from quoth.errors import QuestionError, QuothError
from quoth.http.blocking_work import BoundedPool
from quoth.http.document_catalog import DocumentCatalog
from quoth.http.guard.askers import Asker
from quoth.http.guard.index_access import IndexAccess
from quoth.http.http_faults import HttpFault
from quoth.http.read_log import ReadLog, quotes_in
from quoth.http.response_types import ErrorDetailJson
from quoth.library import Quoth
from quoth.mcp.tools import INSTRUCTIONS, QuothTool, tools_for
from quoth.output.document_json_types import DocumentJson, ListingJson
from quoth.output.json_schema import Schema
from quoth.types import Document

Context = ServerRequestContext[None]
_Page = types.PaginatedRequestParams | None
_Result = TypeVar("_Result")
AskerOf = Callable[[Context], Asker]
"""Says who sent a message."""
ErrorTextOf = Callable[[QuothError], ErrorDetailJson]
"""Chooses the text of an error for clients: the full text only on the operator's own machine."""

PAGE = 250
"""Documents per page of `resources/list`."""
SCHEME = "quoth:///documents/"
TEMPLATE = SCHEME + "{doc_id}"

_LONGEST_COMPLAINT = 300
_TEXT = "text/plain"
_UNEXPECTED = "Something went wrong inside Quoth. Its log, on standard error, says what."
_READ_ONLY = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)

_log = logging.getLogger(__name__)


def server_for(
    quoth: Quoth, *, pool: BoundedPool, error_text: ErrorTextOf, asker_of: AskerOf, reads: ReadLog | None = None
) -> Server[None]:
    """Return a server of one index for any transport, whose calls run in `pool`; `reads` logs what they give."""
    handlers = _Handlers(quoth, pool, error_text, asker_of, reads)
    return Server(
        "quoth",
        title="Quoth",
        version=__version__,
        description="Verbatim answers from your documents, cited by exact offsets, or an honest abstention.",
        instructions=INSTRUCTIONS,
        lifespan=handlers.lifespan,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        get_tool_input_schema=handlers.input_schema,
    )


class _Handlers:
    def __init__(
        self,
        quoth: Quoth,
        pool: BoundedPool,
        error_text: ErrorTextOf,
        asker_of: AskerOf,
        reads: ReadLog | None,
    ) -> None:
        self._quoth = quoth
        self._accesses = IndexAccess(quoth)
        self._error_text = error_text
        self._asker_of = asker_of
        self._reads = reads
        self._pool = pool
        self._catalog = DocumentCatalog(quoth)
        self._tools = {tool.name: tool for tool in tools_for(quoth, self._catalog)}

    @asynccontextmanager
    async def lifespan(self, _: Server[None]) -> AsyncIterator[None]:
        """Load the model in the background: a client may have to wait for the first answer, but not for the tools."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._prepare)
            yield

    async def _prepare(self) -> None:
        try:
            await anyio.to_thread.run_sync(self._quoth.prepare)
        except QuothError as error:  # the first question will report it again, to its client
            _log.error("%s (%s)", error, error.hint)
        except Exception:
            _log.exception("the model could not be loaded")

    async def _work(self, function: Callable[[], _Result]) -> _Result:
        """Run `function` in a thread; raise `MCPError` with what a client may know of an error."""
        try:
            return await self._pool.run(function)
        except HttpFault as fault:  # too many calls at once, or one that took too long
            text = fault.error
            raise MCPError(types.INTERNAL_ERROR, text.message, {"code": text.code, "hint": text.hint}) from fault
        except QuothError as error:
            text = self._error_text(error)
            if text.message != str(error):  # the operator needs what the client does not see
                _log.error("%s (%s)", error, error.hint)
            raise MCPError(types.INTERNAL_ERROR, text.message, {"code": text.code, "hint": text.hint}) from error
        except Exception as error:
            _log.exception("a request failed")
            raise MCPError(types.INTERNAL_ERROR, _UNEXPECTED) from error

    async def _note(self, context: Context, reads: list[dict[str, Any]], route: str) -> None:
        """Write down what is about to be given; raise `MCPError` if it may not be given without."""
        if self._reads is not None:
            try:
                await self._reads.note(self._asker_of(context), reads, request_id=context.request_id, route=route)
            except HttpFault as fault:
                told = {"code": fault.error.code, "hint": fault.error.hint}
                raise MCPError(types.INTERNAL_ERROR, fault.error.message, told) from fault

    def input_schema(self, name: str) -> dict[str, Any] | None:
        tool = self._tools.get(name)
        return tool.input if tool else None

    async def list_tools(self, _: Context, __: _Page) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(tool) for tool in self._tools.values()])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool '{params.name}'")
        try:
            asker = self._asker_of(context)

            def call() -> dict[str, Any]:
                arguments = check_arguments(tool.name, params.arguments, tool.input)
                return tool.call(self._accesses.of(asker), arguments)

            content = await self._work(call)
            await self._note(context, quotes_in(content), f"tool {tool.name}")
        except MCPError as error:  # a model reads the result of a tool, but may not see an error of the protocol
            hint = error.data and error.data["hint"]
            text = f"{error.message}\nHint: {hint}" if hint else error.message
            return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
        texts = [types.TextContent(type="text", text=text) for text in tool.texts(content)]
        return types.CallToolResult(content=[*texts], structured_content=content)

    async def list_resources(self, context: Context, params: _Page) -> types.ListResourcesResult:
        cursor = params.cursor if params else None
        after = "" if cursor is None else doc_id_before(cursor)
        if after is None:
            raise MCPError(types.INVALID_PARAMS, "this cursor is not one that was given")
        asker = self._asker_of(context)

        def page_seen() -> ListingJson:
            catalog = self._catalog.seen_by(self._accesses.of(asker))
            return catalog.listing().page(prefix="", after=after, limit=PAGE)

        page = await self._work(page_seen)
        return types.ListResourcesResult(
            resources=[_resource(document) for document in page.documents],
            next_cursor=None if page.next is None else cursor_after(page.next),
        )

    async def list_templates(self, _: Context, __: _Page) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            name="document",
            title="A document",
            uri_template=TEMPLATE,
            description="The canonical text of a document, which offsets count in. The id is percent-encoded.",
            mime_type=_TEXT,
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        doc_id = doc_id_of(params.uri)
        asker = self._asker_of(context)

        def read(doc_id: str) -> Document | None:
            return self._quoth.seen_by(self._accesses.of(asker)).document(doc_id)

        document = None if doc_id is None else await self._work(lambda: read(doc_id))
        if document is None:
            message = "there is no such document; resources/list gives the addresses"
            raise MCPError(types.INVALID_PARAMS, message, params.uri)
        await self._note(context, [{"doc_id": doc_id, "sha256": document.sha256}], "resource")
        contents = types.TextResourceContents(uri=params.uri, mime_type=_TEXT, text=document.text)
        return types.ReadResourceResult(contents=[contents])


def _tool(tool: QuothTool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input,
        output_schema=tool.output,
        annotations=_READ_ONLY.model_copy(update={"title": tool.title}),
    )


def _resource(document: DocumentJson) -> types.Resource:
    pages = f"{document.pages} pages" if document.pages else None
    facts = [document.document_type, f"{document.characters} characters", pages]
    return types.Resource(
        uri=uri_of(document.doc_id),
        name=document.doc_id,
        title=document.title or document.doc_id,
        description=", ".join(fact for fact in facts if fact),
        mime_type=_TEXT,
    )


def check_arguments(tool: str, given: Mapping[str, Any] | None, schema: Schema) -> dict[str, Any]:
    """Return the arguments that are not null; raise `QuestionError` for one that does not fit the schema.

    Models give null for what they leave out, and 3.0 for 3.
    """
    arguments = {name: _whole(value) for name, value in (given or {}).items() if value is not None}
    error = best_match(Draft202012Validator(schema).iter_errors(arguments))
    if error is not None:
        where = ".".join(map(str, error.absolute_path)) or "the arguments"
        why = error.message if len(error.message) <= _LONGEST_COMPLAINT else f"{error.message[:_LONGEST_COMPLAINT]}…"
        names = ", ".join(schema["properties"])
        raise QuestionError(f"{tool}: {where}: {why}", hint=f"It takes {names}; see its input schema.")
    return arguments


def _whole(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return the value with each whole number as an int; no argument is a fraction."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_whole(item) for item in value]
        case dict():
            return {name: _whole(item) for name, item in value.items()}
        case _:
            return value


def uri_of(doc_id: str) -> str:
    """Return the URI of a document. A slash in its id is encoded too, since the template has a single variable."""
    return SCHEME + quote(doc_id, safe="")


def doc_id_of(uri: str) -> str | None:
    """Return the id of the document at a URI; None if the URI is not one of a document."""
    encoded = uri.removeprefix(SCHEME)
    if encoded == uri or not encoded:
        return None
    try:
        return unquote(encoded, errors="strict")
    except UnicodeDecodeError:
        return None


def cursor_after(doc_id: str) -> str:
    """Return an opaque cursor for the page that begins after this document."""
    return base64.urlsafe_b64encode(doc_id.encode("utf-8")).decode("ascii")


def doc_id_before(cursor: str) -> str | None:
    """Return the document that a page begins after; None if `cursor_after` did not make this cursor."""
    try:
        return base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True).decode("utf-8")
    except (UnicodeError, binascii.Error):
        return None
