"""What the tools return, as a model should read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_MOST_COUNTS = 100
"""Documents that the text for a model counts one by one; the object has all of them."""

_NOTHING_ADDED = (
    "These quotes are the whole answer. Give them word for word, each with its citation. Nothing may be added to them: "
    "no fact, number or condition that is not in their words."
)
_NO_ANSWER = (
    "Say that no sure answer was found, and why. What may be relevant may be given word for word, as just that. Do not "
    "answer the question from it, nor from anything else that you know."
)


def answer_texts(answer: Mapping[str, Any]) -> list[str]:
    """Return an answer object as a model should read it, with what the model may do with it."""
    lines, rule = (_abstention(answer), _NO_ANSWER) if answer["abstained"] else (_answered(answer), _NOTHING_ADDED)
    notes = [f"Note: {warning}" for warning in answer["run_notes"]["warnings"]]
    understood = [f"Understood as: {answer['understood']}"] if "understood" in answer else []
    return ["\n\n".join([*understood, *lines, *notes, rule])]


def _answered(answer: Mapping[str, Any]) -> list[str]:
    lines = [f"Answered in the words of the documents; confidence {answer['confidence']:.2f}."]
    lines += _numbered(answer["answer_sentences"])
    if answer["unsupported_parts"]:
        lines.append("Parts of the question without evidence: " + "; ".join(answer["unsupported_parts"]))
    return [*lines, *(_conflict(conflict) for conflict in answer["conflicts"])]


def _abstention(answer: Mapping[str, Any]) -> list[str]:
    reason = answer["reason"]
    relevant = answer["outcome"] == "may_be_relevant"
    heading = "No sure answer, but something that may be relevant" if relevant else "No answer"
    lines = [f"{heading} ({reason['code']}): {reason['detail']}"]
    if answer["missing"]:
        lines.append("Without evidence: " + "; ".join(answer["missing"]))
    if answer["nearest"]:
        lines.append(f"What {'may apply' if relevant else 'came nearest'}, not given as an answer:")
        lines += _numbered(answer["nearest"])
    return lines


def _numbered(citations: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"[{number}] {_citation(citation)}" for number, citation in enumerate(citations, 1)]


def _citation(citation: Mapping[str, Any]) -> str:
    lines = [f'"{citation["text"]}"']
    if citation["lead"]:
        lines.append(f'    introduced by: "{citation["lead"]["text"]}"')
    lines.append(f"    cite: {_location(citation)}")
    lines += [f"    the same in: {_location(place)}" for place in citation.get("also") or ()]
    if citation.get("role") == "context" and not citation.get("why"):
        lines.append("    only context: it completes the answer and does not give it")
    if citation.get("why"):
        lines.append(f"    what it lacks: {citation['why']}")
    return "\n".join(lines)


def _location(quote: Mapping[str, Any]) -> str:
    """Return where a quote stands: `rules.md[10:42] · 4 Fences > 4.2 Height · page 3 · binding`."""
    facts = [f"{quote['doc_id']}[{quote['start']}:{quote['end']}]", " > ".join(quote["section"])]
    facts.append(f"page {quote['page']}" if quote.get("page") else "")
    facts.append(quote.get("cells") or "")
    guessed = " (guessed from its title)" if quote.get("authority_guessed") else ""
    facts.append(f"{quote['authority']}{guessed}" if quote.get("authority") else "")
    facts.append(f"in effect from {quote['effective_date']}" if quote.get("effective_date") else "")
    facts += [_superseded(by) for by in quote.get("superseded_by") or ()]
    if quote.get("ocr_confidence") is not None:
        facts.append(f"read from a picture, {quote['ocr_confidence']:.0%} sure")
    return " · ".join(fact for fact in facts if fact)


def _superseded(by: Mapping[str, Any]) -> str:
    return f"SUPERSEDED by {by['by']}" + (f" ({by['section']})" if by["section"] else "")


def _conflict(conflict: Mapping[str, Any]) -> str:
    sides = [f'    - "{side["text"]}" ({_location(side)})' for side in conflict["statements"]]
    return "\n".join([f"Sources disagree: {conflict['detail']} Report both sides.", *sides])


def retrieval_texts(retrieval: Mapping[str, Any]) -> list[str]:
    """Return the context as it is, then the message and the warning, if any."""
    notes = (("Note", retrieval["message"]), ("Warning", retrieval["warning"]))
    texts = [f"{kind}: {text}" for kind, text in notes if text]
    return [*([retrieval["context"]] if retrieval["context"] else []), *texts]


def found_texts(found: Mapping[str, Any]) -> list[str]:
    """Return the counts, then each match with the words around it, which may be quoted."""
    shown = len(found["matches"])
    lines = [f"{found['count']} matches in {len(found['documents'])} documents; the first {shown} follow."]
    lines += [f"- {one['doc_id']}: {one['count']}" for one in found["documents"][:_MOST_COUNTS]]
    matches = [
        f'[{number}] "{match["context"]["text"]}"\n    match: {_location(match)}'
        for number, match in enumerate(found["matches"], 1)
    ]
    missing = [f"Note: {shard} does not answer; its documents are left out" for shard in found["missing_shards"]]
    return ["\n\n".join(["\n".join(lines), *matches, *missing])]


def verify_texts(verification: Mapping[str, Any]) -> list[str]:
    count = verification["citations"]
    exact = f"{count - len(verification['failures'])} of {count} citations are exact."
    wrong = [
        f"[{failure['number']}] {failure['doc_id']}[{failure['start']}:{failure['end']}]: {failure['why']}"
        for failure in verification["failures"]
    ]
    return ["\n".join([exact, *wrong])]


def list_texts(listing: Mapping[str, Any]) -> list[str]:
    documents, total = listing["documents"], listing["total"]
    lines = [f"{len(documents)} of {total} documents:" if documents else f"None of {total} documents."]
    lines += [_document(document) for document in documents]
    if listing["next"] is not None:
        lines.append(f"There are more: call again with after = {listing['next']!r}.")
    return ["\n".join(lines)]


def _document(document: Mapping[str, Any]) -> str:
    facts = [document["doc_id"], document["title"], document["document_type"], f"{document['characters']} characters"]
    facts.append(f"{document['pages']} pages" if document["pages"] else "")
    facts.append(f"in effect from {document['effective_date']}" if document["effective_date"] else "")
    facts += [_superseded(by) for by in document["superseded_by"]]
    return "- " + " · ".join(fact for fact in facts if fact)


def span_texts(span: Mapping[str, Any]) -> list[str]:
    """Return a slice between the text before and after it, each under a heading."""
    before = "…" if span["truncated_before"] else ""
    after = "…" if span["truncated_after"] else ""
    blocks = [
        f"{span['title'] or span['doc_id']}: {_location(span)}",
        f"BEFORE:\n{before}{span['before']}" if span["before"] else "",
        f"QUOTE:\n{span['quote']}",
        f"AFTER:\n{span['after']}{after}" if span["after"] else "",
    ]
    return ["\n\n".join(block for block in blocks if block)]
