"""`quoth ask` without a question: a conversation at a terminal, with history, completion and follow-ups."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from rich.markup import escape

from quoth.cli.terminal import (
    OUT,
    numbered_quotes,
    plain,
    print_outcome,
    print_see_also,
    print_table,
    print_trace,
    shown_near_misses,
)
from quoth.cli.user_language import counted, tr
from quoth.errors import CorpusError, QuestionError, QuothError
from quoth.language.display import one_line
from quoth.library import Quoth
from quoth.output.source_slices import span_json
from quoth.types import Abstention, AskResult, Citation, Filters

_AROUND = 600
"""Characters shown on each side of a quote."""
_MOST_LISTED = 100
_MOST_LINES = 1_000
"""Lines that the history keeps."""


class Conversation:
    """A talk about one index: the last answer, what the talk is about, and the document it is restricted to."""

    def __init__(self, quoth: Quoth, filters: Filters, *, why: bool) -> None:
        self._quoth = quoth
        self._filters = filters
        self._why = why
        self._about: tuple[str, ...] = ()
        self._last: AskResult | None = None
        self._commands: dict[str, tuple[str, str, Callable[[str], None]]] = {
            ":why": ("", tr("how the last answer came about"), self._explain),
            ":see": ("", tr("what else is near the last question"), self._see_also),
            ":open": ("N", tr("the text around quote N of the last answer"), self._open),
            ":doc": ("ID", tr("ask only this document; without ID, all of them"), self._restrict),
            ":docs": ("TEXT", tr("the documents, or those with TEXT in their id"), self._list),
            ":new": ("", tr("forget what the talk is about"), self._forget),
            ":help": ("", tr("this list"), self._help),
            ":quit": ("", tr("leave, as Ctrl-D does"), self._leave),
        }

    def run(self) -> None:
        """Read questions and commands until the user leaves; an error is shown, and the talk goes on."""
        self._quoth.prepare()
        count = counted(self._quoth.info.documents, "{count} document", "{count} documents")
        OUT.print(f"{count}. {tr('Ask a question; :help lists the commands.')}")
        while True:
            try:
                line = input(self._prompt()).strip()
            except KeyboardInterrupt:
                OUT.print()
                continue
            except EOFError:
                OUT.print()
                return
            try:
                self._take(line)
            except _Leaving:
                return
            except KeyboardInterrupt:
                OUT.print(f"[yellow]{tr('interrupted')}[/yellow]")
            except QuothError as error:
                OUT.print(f"[red]error: {plain(str(error))}[/red]")
                if error.hint:
                    OUT.print(f"hint: {plain(error.hint)}")

    def completions(self, line: str) -> list[str]:
        """Return whole lines that `line` may become: commands, and the ids of documents after `:doc`."""
        command, space, begun = line.partition(" ")
        if not space:
            return [
                f"{name} " if usage else name for name, (usage, *_) in self._commands.items() if name.startswith(line)
            ]
        if command not in {":doc", ":docs"}:
            return []
        known = self._doc_ids
        named = [doc_id for doc_id in known if doc_id.startswith(begun)]
        if not named:  # a part of the id is enough when it leaves no choice
            inside = [doc_id for doc_id in known if begun.casefold() in doc_id.casefold()]
            named = inside if len(inside) == 1 else []
        return [f"{command} {doc_id}" for doc_id in named]

    @property
    def _doc_ids(self) -> list[str]:
        return [info.id for info in self._quoth.documents()]

    def _prompt(self) -> str:
        within = f" [{one_line(self._filters.doc_ids[0])}]" if len(self._filters.doc_ids) == 1 else ""
        return f"quoth{within}> "

    def _take(self, line: str) -> None:
        if line.startswith(":"):
            self._command(line)
        elif line:
            self._ask(line)

    def _ask(self, question: str) -> None:
        self._last = asked = self._quoth.explain(question, filters=self._filters, previous=self._about)
        self._about = (asked.outcome.understood or question,)
        if asked.outcome.understood:
            meant = tr("understood as: {question}", question=asked.outcome.understood)
            OUT.print(f"[dim]{plain(meant)}[/dim]\n")
        print_outcome(asked.outcome)
        if self._why:
            print_trace(asked)

    def _command(self, line: str) -> None:
        """Run a command; the beginning of its name is enough where no other begins so."""
        name, _, rest = line.partition(" ")
        named = [known for known in self._commands if known == name] or [
            known for known in self._commands if known.startswith(name)
        ]
        if len(named) != 1:
            raise QuestionError(f"there is no command {name}", hint=f"Commands: {', '.join(self._commands)}.")
        self._commands[named[0]][2](rest.strip())

    def _answered(self) -> AskResult:
        if self._last is None:
            raise QuestionError("nothing was asked yet", hint="Ask a question first.")
        return self._last

    def _explain(self, _: str) -> None:
        print_trace(self._answered())

    def _see_also(self, _: str) -> None:
        outcome = self._answered().outcome
        shown = shown_near_misses(outcome) if isinstance(outcome, Abstention) else outcome.citations
        if len(numbered_quotes(outcome)) > len(shown):
            print_see_also(outcome)
        else:
            OUT.print(tr("Nothing else is near the last question."))

    def _open(self, number: str) -> None:
        quotes = numbered_quotes(self._answered().outcome)
        if not number.isdecimal() or not 1 <= int(number) <= len(quotes):
            known = f"Give a number from 1 to {len(quotes)}." if quotes else "The last answer has no quotes."
            raise QuestionError(f"there is no quote '{number}'", hint=known)
        self._show(quotes[int(number) - 1])

    def _show(self, citation: Citation) -> None:
        sentence, profile = citation.sentence, self._quoth.engine().profile
        place = sentence.quote.span
        around = self._quoth.read(
            lambda reader: span_json(
                reader,
                sentence.doc_id,
                place.start,
                place.end,
                around=_AROUND,
                profile=profile,
                cited=citation.doc_sha256,
            )
        )
        where = [
            f"{sentence.doc_id}[{place.start}:{place.end}]",
            *([" > ".join(sentence.section)] if sentence.section else []),
        ]
        OUT.print(f"[dim]{plain(' · '.join(where))}[/dim]\n")
        before = ("… " if around["truncated_before"] else "") + around["before"].lstrip()
        after = around["after"].rstrip() + (" …" if around["truncated_after"] else "")
        OUT.print(f"{_lines(before)}[bold reverse]{_lines(around['quote'])}[/bold reverse]{_lines(after)}")

    def _restrict(self, doc_id: str) -> None:
        if doc_id and doc_id not in (known := self._doc_ids):
            near = get_close_matches(doc_id, known, n=1, cutoff=0.4)
            hint = f"Did you mean {near[0]}?" if near else ":docs lists the documents."
            raise CorpusError(f"the index holds no document '{doc_id}'", hint=hint)
        self._filters = replace(self._filters, doc_ids=(doc_id,) if doc_id else ())
        OUT.print(plain(tr("Asking only {doc_id}.", doc_id=doc_id)) if doc_id else tr("Asking all documents."))

    def _list(self, text: str) -> None:
        found = [doc_id for doc_id in self._doc_ids if text.casefold() in doc_id.casefold()]
        for doc_id in islice(found, _MOST_LISTED):
            OUT.print(plain(doc_id))
        if len(found) > _MOST_LISTED or not found:
            count = counted(len(found), "{count} document", "{count} documents")
            OUT.print(f"[dim]{count}; {tr(':docs TEXT lists those with TEXT in their id')}[/dim]")

    def _forget(self, _: str) -> None:
        self._about = ()
        OUT.print(tr("The next question stands alone."))

    def _help(self, _: str) -> None:
        rows = ((f"[bold]{name}[/bold] {usage}", meaning) for name, (usage, meaning, _) in self._commands.items())
        print_table(("", ""), rows)
        OUT.print(f"{tr('A question may lean on the last:')} [bold]and in 2023?[/bold], [bold]why?[/bold]")

    def _leave(self, _: str) -> None:
        raise _Leaving


class _Leaving(Exception):
    """The user wants to leave."""


def _lines(text: str) -> str:
    """Return markup that shows a text as it is, line by line, without control characters."""
    return "\n".join(
        escape("".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in line))
        for line in text.replace("\r\n", "\n").expandtabs().split("\n")
    )


def converse(quoth: Quoth, filters: Filters, *, why: bool) -> None:
    """Talk with the user of this terminal until they leave."""
    conversation = Conversation(quoth, filters, why=why)
    with _line_editing(history_file(), conversation.completions):
        conversation.run()


def history_file() -> Path:
    """Return where the lines of conversations are kept: in the user's folder for state."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "quoth" / "history"


@contextmanager
def _line_editing(history: Path, completions: Callable[[str], list[str]]) -> Iterator[None]:
    """Let `input` edit lines, recall those of earlier conversations and complete with Tab."""
    try:
        import readline
    except ImportError:  # a Python without it: lines are read plainly
        yield
        return

    def complete(text: str, state: int) -> str | None:
        if state == 0:
            with suppress(QuothError):  # the index may be gone; that is told when it is asked
                matches[:] = completions(text)
        return matches[state] if state < len(matches) else None

    matches: list[str] = []
    readline.set_completer(complete)
    readline.set_completer_delims("")  # ids hold spaces and slashes: the whole line is completed
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
    readline.set_history_length(_MOST_LINES)
    # A history that cannot be kept, in a folder that cannot be written, is not worth an error.
    with suppress(OSError):
        history.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(history, os.O_CREAT | os.O_WRONLY, 0o600))
        readline.read_history_file(history)
    known = readline.get_current_history_length()
    try:
        yield
    finally:
        with suppress(OSError):
            readline.append_history_file(readline.get_current_history_length() - known, history)
            history.chmod(0o600)
