"""Count what people read: the characters and lines that `quoth ask` prints for each question of a file.

    python tools/printed_characters.py QUESTIONS "quoth ask --index rules" ["other/quoth ask --index old" ...] [--show]

Each command is run with each question, and prints as on a terminal of 80 columns. Commands of several versions are
compared side by side. Spaces that only indent or fill a line are not counted as characters.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path

from quoth.search.question_files import UnreadableLine, read_questions

COLUMNS = 80


def main() -> int:
    options = _options()
    with options.questions.open(encoding="utf-8") as lines:
        read = [question for question in read_questions(lines) if not isinstance(question, UnreadableLine)]
    questions = [question.text for question in read][: options.limit]
    print("| command | questions | characters | lines | characters per question |\n|---|---|---|---|---|")
    for command in options.commands:
        printed = [_printed(command, question) for question in questions]
        characters = sum(len(" ".join(text.split())) for text in printed)
        lines = sum(text.count("\n") for text in printed)
        each = characters / max(1, len(questions))
        print(f"| `{command}` | {len(questions)} | {characters:,} | {lines:,} | {each:.0f} |", flush=True)
        if options.show:
            for question, text in zip(questions, printed, strict=True):
                print(f"\n$ {question}\n{text}", flush=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path, help="a text or JSONL file, as for `quoth batch`")
    parser.add_argument("commands", nargs="+", metavar="COMMAND", help="a command that the question is added to")
    parser.add_argument("--limit", type=int, help="only so many questions")
    parser.add_argument("--show", action="store_true", help="print what was printed too")
    return parser.parse_args()


def _printed(command: str, question: str) -> str:
    words, environment = [*shlex.split(command), question], {**os.environ, "COLUMNS": str(COLUMNS)}
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{shlex.join(words)}: {ran.stderr}")
    return ran.stdout


if __name__ == "__main__":
    sys.exit(main())
