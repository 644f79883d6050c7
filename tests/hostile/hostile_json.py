"""JSON files that nest, repeat, grow or escape what no text can hold."""

from __future__ import annotations

import json

from hostile_parts import SAID, Hostile, World, hostile


def _deep_object(_world: World) -> bytes:
    return b'{"a":' * 300 + json.dumps(SAID).encode() + b"}" * 300


def _wide_rows(world: World) -> bytes:
    """Objects that share no key, so that a table of them would be nearly all gaps."""
    return json.dumps([{f"key {n}": SAID, f"other {n}": n} for n in range(world.many(200_000))]).encode()


FILES: tuple[Hostile, ...] = (
    hostile("json/truncated.json", "refused", lambda _: b'{"text": "Sow the'),
    hostile("json/lists-without-end.json", "refused", lambda _: b"[" * 1_000_000),
    hostile("json/a-deep-object.json", "either", _deep_object),
    hostile("json/deep-lists.json", "either", lambda _: b"[" * 500 + b'"deep"' + b"]" * 500),
    hostile("json/one-key-a-thousand-times.json", "taken", lambda _: b"{" + b'"a": "x", ' * 1_000 + b'"a": "y"}'),
    hostile("json/a-number-of-a-million-digits.json", "taken", lambda w: b'{"a": %b}' % (b"9" * w.many(10**6))),
    hostile("json/halves-of-pairs.json", "taken", lambda _: b'{"\\ud800": "\\udfff \\u0000", "": ""}'),
    hostile("json/objects-without-a-common-key.json", "either", _wide_rows),
    hostile("json/a-million-lines.jsonl", "refused", lambda w: b'{"a": 1}\n' * max(400_001, w.many(10**6))),
    hostile("json/one-bad-line.jsonl", "refused", lambda _: b'{"a": 1}\n{"a": }\n'),
    hostile("json/nan-and-infinity.json", "taken", lambda _: b'{"a": NaN, "b": -Infinity}'),
)
