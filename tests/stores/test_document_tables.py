"""Texts and sentences of the database: a sentence is a slice of the text, wherever the text is cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.errors import OffsetMismatch
from quoth.stores.embedded import EmbeddedStore
from quoth.types import Quote, Span

from .contract import write
from .fakes import split

LETTERS = st.sampled_from("aé\u0000😀 文\n")


@settings(max_examples=10, deadline=None)
@given(lengths=st.lists(st.integers(1, 4_500), min_size=1, max_size=4), letters=st.text(LETTERS, min_size=1))
def test_every_sentence_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], letters: str
) -> None:
    texts = [(f"{number}{letters}" * length)[:length] for number, length in enumerate(lengths)]
    whole = split("a.md", *texts)
    lead = whole.sentences[0].quote
    led = tuple(replace(sentence, lead=lead) for sentence in whole.sentences[1:])
    written = replace(whole, sentences=(whole.sentences[0], *led))
    store = EmbeddedStore(tmp_path_factory.mktemp("index"))
    write(store, [written, split("b.md", "Another.")])

    with store.read() as reader:
        assert tuple(reader.sentences("a.md")) == written.sentences
        assert reader.document("a.md") == whole.document
        assert dict(reader.texts(["a.md", "b.md"]))["a.md"] == whole.document.text.encode()


def test_a_sentence_that_is_not_in_the_text_is_refused(tmp_path: Path) -> None:
    whole = split("a.md", "The first sentence.")
    odd = replace(whole.sentences[0], quote=Quote(Span(0, 4), "That"))

    with pytest.raises(OffsetMismatch, match=r"a\.md\[0:4\]"):
        write(EmbeddedStore(tmp_path), [replace(whole, sentences=(odd,))])
