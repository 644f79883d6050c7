"""OpenTelemetry traces, where they are wanted: a span for each request, and one below it for each stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from quoth.errors import MissingExtra

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

Stages = Sequence[tuple[str, int, int]]
"""Names with when they began and ended, in nanoseconds since 1970."""


class Traces(Protocol):
    def request(self, headers: Mapping[str, str]) -> Any:  # noqa: ANN401 - a context manager that gives a _Span
        """A span around a request, below the one that its headers name."""
        ...

    def stages(self, path: str, stages: Stages) -> None:
        """Spans for the stages of a question, below the current one."""
        ...

    def close(self) -> None: ...


class NoTraces:
    @contextmanager
    def request(self, headers: Mapping[str, str]) -> Iterator[None]:
        yield None

    def stages(self, path: str, stages: Stages) -> None:
        pass

    def close(self) -> None:
        pass


class OpenTelemetry:
    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("quoth")
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def request(self, headers: Mapping[str, str]) -> Iterator[Any]:
        from opentelemetry.trace import SpanKind

        parent = self._propagator.extract(dict(headers))
        with self._tracer.start_as_current_span("request", context=parent, kind=SpanKind.SERVER) as span:
            yield span

    def stages(self, path: str, stages: Stages) -> None:
        for name, began, ended in stages:
            span = self._tracer.start_span(f"{path} {name}", start_time=began)
            span.end(ended)

    def close(self) -> None:
        self._provider.shutdown()


def open_traces(*, on: bool) -> Traces:
    """Sends traces over OTLP to wherever the `OTEL_*` variables say."""
    if not on:
        return NoTraces()
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingExtra("sending traces", "otel") from error
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: "quoth"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return OpenTelemetry(provider)
