"""The server as the SDK wants it: handlers that hand the work to threads, and give errors as results."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from quoth import __version__
from quoth.errors import QuestionError, QuothError
from quoth.interfaces.guard.words import Words
from quoth.interfaces.mcp.arguments import checked
from quoth.interfaces.mcp.catalog import Catalog
from quoth.interfaces.mcp.resources import PAGE, TEMPLATE, cursor_after, doc_id_before, doc_id_of, uri_of
from quoth.interfaces.mcp.tools import QuothTool, Reply, tools_for
from quoth.interfaces.mcp.wording import INSTRUCTIONS
from quoth.interfaces.python import Quoth
from quoth.types import DocumentInfo

_Context = ServerRequestContext[None]
_Result = TypeVar("_Result")
Telling = Callable[[QuothError], Words]
"""What a client is told of an error: over a network less than on the machine of the operator."""

_TEXT = "text/plain"
_UNEXPECTED = "Something went wrong inside Quoth. Its log, on standard error, says what."
_READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

_log = logging.getLogger(__name__)


def server_for(quoth: Quoth, *, threads: int, queue: int, words: Telling) -> Server[None]:
    """A server of one index, ready for any transport; `threads` calls work at once, and `queue` more may wait."""
    handlers = _Handlers(quoth, threads, queue, words)
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
    def __init__(self, quoth: Quoth, threads: int, queue: int, words: Telling) -> None:
        self._quoth = quoth
        self._words = words
        self._threads = threads
        self._most = threads + queue
        self._limiter: anyio.CapacityLimiter | None = None
        self._underway = 0
        self._catalog = Catalog(quoth)
        self._tools = {tool.name: tool for tool in tools_for(quoth, self._catalog)}

    @asynccontextmanager
    async def lifespan(self, _: Server[None]) -> AsyncIterator[None]:
        """Load the model beside the handshake: a client waits for the first answer, but not for the list of tools."""
        self._limiter = anyio.CapacityLimiter(self._threads)
        async with anyio.create_task_group() as group:
            group.start_soon(self._prepare)
            yield

    async def _prepare(self) -> None:
        try:
            await anyio.to_thread.run_sync(self._quoth.prepare)
        except QuothError as error:  # the first question will say it again, to whoever asks
            _log.error("%s (%s)", error, error.hint)
        except Exception:
            _log.exception("the model could not be loaded")

    async def _work(self, function: Callable[[], _Result]) -> _Result:
        """What `function` gives, in a thread; a call too many is sent away, or waiting ones would pile up."""
        if self._underway >= self._most:
            raise _TooMany(f"{self._underway} other calls are being answered", hint="Try again in a moment.")
        self._underway += 1
        try:
            return await anyio.to_thread.run_sync(function, limiter=self._limiter)
        finally:
            self._underway -= 1

    def input_schema(self, name: str) -> dict[str, Any] | None:
        tool = self._tools.get(name)
        return tool.input if tool else None

    async def list_tools(self, _: _Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_described(tool) for tool in self._tools.values()])

    async def call_tool(self, _: _Context, params: CallToolRequestParams) -> CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"there is no tool '{params.name}'")
        try:
            reply = await self._work(lambda: tool.call(checked(tool.name, params.arguments, tool.input)))
        except QuothError as error:
            told = self._told(error)
            return _refusal(f"{told.message}\nHint: {told.hint}" if told.hint else told.message)
        except Exception:
            _log.exception("the tool %s failed", tool.name)
            return _refusal(_UNEXPECTED)
        return _result(reply)

    async def list_resources(self, _: _Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        cursor = params.cursor if params else None
        after = None if cursor is None else doc_id_before(cursor)
        if cursor is not None and after is None:
            raise MCPError(INVALID_PARAMS, "this cursor is not one that was given")
        page = await self._resource_work(lambda: self._catalog.page(prefix="", after=after, limit=PAGE))
        return ListResourcesResult(
            resources=[_listed(info) for info in page.documents],
            next_cursor=None if page.next is None else cursor_after(page.next),
        )

    async def list_templates(self, _: _Context, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        template = ResourceTemplate(
            name="document",
            title="A document",
            uri_template=TEMPLATE,
            description="The canonical text of a document, which offsets count in. The id is percent-encoded.",
            mime_type=_TEXT,
        )
        return ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, _: _Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        doc_id = doc_id_of(params.uri)
        document = None if doc_id is None else await self._resource_work(lambda: self._quoth.document(doc_id))
        if document is None:
            raise MCPError(INVALID_PARAMS, "there is no such document; resources/list gives the addresses", params.uri)
        contents = TextResourceContents(uri=params.uri, mime_type=_TEXT, text=document.text)
        return ReadResourceResult(contents=[contents])

    async def _resource_work(self, function: Callable[[], _Result]) -> _Result:
        """As `_work`; what goes wrong is an error of the protocol, since a resource has no other way to say it."""
        try:
            return await self._work(function)
        except QuothError as error:
            told = self._told(error)
            raise MCPError(INTERNAL_ERROR, told.message, {"code": told.code, "hint": told.hint}) from error
        except Exception as error:
            _log.exception("a resource could not be given")
            raise MCPError(INTERNAL_ERROR, _UNEXPECTED) from error

    def _told(self, error: QuothError) -> Words:
        told = self._words(error)
        if told.message != str(error):  # what a client is not told must be found by the operator
            _log.error("%s (%s)", error, error.hint)
        return told


class _TooMany(QuestionError):
    """One that may be asked again as it is, a little later."""

    code = "busy"


def _described(tool: QuothTool) -> Tool:
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input,
        output_schema=tool.output,
        annotations=_READ_ONLY.model_copy(update={"title": tool.title}),
    )


def _result(reply: Reply) -> CallToolResult:
    texts = [TextContent(type="text", text=text) for text in reply.texts]
    return CallToolResult(content=[*texts], structured_content=reply.content)


def _refusal(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _listed(info: DocumentInfo) -> Resource:
    about = [
        info.metadata.document_type,
        f"{info.characters} characters",
        f"{info.pages} pages" if info.pages else None,
    ]
    return Resource(
        uri=uri_of(info.id),
        name=info.id,
        title=info.metadata.title or info.id,
        description=", ".join(part for part in about if part),
        mime_type=_TEXT,
    )
