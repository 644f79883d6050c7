"""The write path: files -> Document -> regions -> sentences -> tags -> (embed) -> Store."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from quoth.corpus.load import SourceFile, SourceText, find_files, read_text
from quoth.corpus.manifest import Rule, fields_for, merged, metadata, read_manifest, with_tags
from quoth.corpus.tags import Tagger, document_tagger
from quoth.errors import CorpusError, NoIndex, SettingsError, UnreadableFile
from quoth.profile import Profile
from quoth.protocols import Embedder, Progress, Store
from quoth.settings import parse_yaml
from quoth.text.sentences import SPLITTER_VERSION, split
from quoth.types import Document, IndexInfo, Quote, Region, RegionKind, Sentence, Span, SplitDocument


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that was not taken, and what to do about it."""

    path: str
    why: str
    hint: str


@dataclass(frozen=True, slots=True)
class IngestReport:
    info: IndexInfo
    written: tuple[str, ...]
    unchanged: int
    refused: tuple[Refused, ...]
    converted: Mapping[str, str]
    """Documents that were not UTF-8, with the encoding they were read in."""
    ignored: Mapping[str, int]
    """Files of other formats, by ending."""


def ingest(
    paths: Iterable[Path], *, store: Store, embedder: Embedder, profile: Profile, progress: Progress | None
) -> IngestReport:
    """Bring the index up to date with the files under `paths`; only what changed is split and embedded again."""
    found = find_files(paths)
    if not found.files:
        others = ", ".join(f"{count} {ending}" for ending, count in found.ignored.most_common(5))
        raise CorpusError(
            "no documents found" + (f" (only {others})" if others else ""),
            hint="Give a folder with .md or .txt files.",
        )
    profile_changed = _profile_changed(store, profile, {file.doc_id for file in found.files})
    work = _Work(
        profile,
        profile_changed=profile_changed,
        known=store.fingerprints(),
        progress=progress,
        total=len(found.files),
    )
    work.refused.extend(map(_refused, found.closed))
    documents = work.changed(found.files)
    first = next(documents, None)
    if first is None and not work.known:
        raise CorpusError(f"none of {len(found.files)} files could be read", hint=work.refused[0].hint) from None
    info = store.write(
        chain([first] if first else [], documents),
        remove=(),
        embedder=embedder,
        profile=(profile.name, profile.source),
        progress=progress,
    )
    return IngestReport(
        info, tuple(work.written), work.unchanged, tuple(work.refused), work.converted, Counter(found.ignored)
    )


def _profile_changed(store: Store, profile: Profile, found: set[str]) -> bool:
    """Whether the index was made with another profile. Then every document is needed: tags of two must not mix."""
    try:
        with store.read() as reader:
            info, ids = reader.info, {document.id for document in reader.documents()}
    except NoIndex:
        return False
    if info.profile_source == profile.source:
        return False
    if not ids <= found:
        raise SettingsError(
            f"the index holds {len(ids - found)} other documents, tagged by its own '{info.profile_name}' profile",
            hint="Ingest all the folders again in one command, or use another --index.",
        )
    return True


def _refused(error: UnreadableFile) -> Refused:
    return Refused(error.path, str(error).removeprefix(f"{error.path}: "), error.hint)


class _Work:
    """Walks the files once, as the store asks for documents, and counts what became of each."""

    def __init__(
        self,
        profile: Profile,
        *,
        profile_changed: bool,
        known: Mapping[str, str],
        progress: Progress | None,
        total: int,
    ) -> None:
        self.profile = profile
        self.profile_changed = profile_changed
        self.known = known
        self.progress = progress
        self.total = total
        self.unchanged = 0
        self.written: list[str] = []
        self.refused: list[Refused] = []
        self.converted: dict[str, str] = {}
        self._manifests: dict[Path, tuple[Rule, ...]] = {}

    def changed(self, files: Iterable[SourceFile]) -> Iterator[SplitDocument]:
        """The documents whose stored form is missing or out of date."""
        for number, file in enumerate(files, 1):
            try:
                document = self._split_if_changed(file)
            except UnreadableFile as error:
                if file.doc_id in self.known and self.profile_changed:
                    # Its old form would stay in the index, tagged by the old profile.
                    raise SettingsError(
                        f"with another profile every document must be read, but {error}", hint=error.hint
                    ) from error
                self.refused.append(_refused(error))
                continue
            finally:
                if self.progress:
                    self.progress("reading", number, self.total)
            if document is None:
                self.unchanged += 1
                continue
            self.written.append(file.doc_id)
            yield document

    def _split_if_changed(self, file: SourceFile) -> SplitDocument | None:
        _check_name(file)
        fields = fields_for(file.doc_id, self._manifest(file.root))
        source = read_text(file.path, label=file.doc_id)
        fingerprint = _fingerprint(source, fields, self.profile)
        if self.known.get(file.doc_id) == fingerprint:
            return None
        if source.encoding != "utf-8":
            self.converted[file.doc_id] = source.encoding
        return split_document(file, source, fields=fields, profile=self.profile, fingerprint=fingerprint)

    def _manifest(self, root: Path) -> tuple[Rule, ...]:
        if root not in self._manifests:
            facets = [facet.name for facet in self.profile.facets]
            self._manifests[root] = read_manifest(root, facets=facets)
        return self._manifests[root]


def _check_name(file: SourceFile) -> None:
    """A file name may be any bytes; one that is not Unicode cannot be cited."""
    try:
        file.doc_id.encode()
    except UnicodeEncodeError as error:
        shown = file.doc_id.encode(errors="surrogateescape").decode(errors="backslashreplace")
        raise UnreadableFile(shown, "its name is not valid Unicode", hint="Rename the file.") from error


def split_document(
    file: SourceFile, source: SourceText, *, fields: Mapping[str, Any], profile: Profile, fingerprint: str
) -> SplitDocument:
    """A document with its metadata and tagged sentences."""
    parts = split(source.text, format=file.format)
    facets = [facet.name for facet in profile.facets]
    try:
        described = metadata(
            merged(fields, with_tags(_front_matter(source.text, [region for region, _ in parts]), facets)),
            place=file.doc_id,
            facets=facets,
        )
    except SettingsError as error:
        raise UnreadableFile(file.doc_id, str(error).removeprefix(f"{file.doc_id}: "), hint=error.hint) from error
    document = Document(
        id=file.doc_id,
        text=source.text,
        sha256=source.sha256,
        source_sha256=source.source_sha256,
        encoding=source.encoding,
        format=file.format,
        metadata=described,
    )
    tag = document_tagger(profile, doc_id=file.doc_id, declared=described.tags)
    sentences = tuple(_sentence(document, region, span, tag) for region, spans in parts for span in spans)
    return SplitDocument(document, sentences, fingerprint)


def _sentence(document: Document, region: Region, span: Span, tag: Tagger) -> Sentence:
    text = document.quote(span)
    return Sentence(
        doc_id=document.id,
        quote=Quote(span, text),
        kind=region.kind,
        section=region.section,
        lead=Quote(region.lead, document.quote(region.lead)) if region.lead else None,
        page=None,
        tags=tag(text, region.section),
    )


def _front_matter(text: str, regions: Iterable[Region]) -> Mapping[str, Any]:
    block = next((region.span for region in regions if region.kind is RegionKind.FRONT_MATTER), None)
    if block is None:
        return {}
    lines = text[block.start : block.end].strip().splitlines()
    content = parse_yaml("\n".join(lines[1:-1]), what="its front matter", hint="Correct the lines between ---.")
    if content is not None and not isinstance(content, dict):
        raise SettingsError("its front matter is not a mapping", hint="Write `key: value` lines between the --- lines.")
    return content or {}


def _fingerprint(source: SourceText, fields: Mapping[str, Any], profile: Profile) -> str:
    parts = [source.source_sha256, json.dumps(fields, sort_keys=True, default=str), profile.source, SPLITTER_VERSION]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
