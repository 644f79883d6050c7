"""Write src/quoth/language/opposites.txt from the files of WordNet (Debian's package `wordnet-base`).

python tools/make_opposites.py [--wordnet /usr/share/wordnet]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "src/quoth/language/opposites.txt"
PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
CLOSED_CLASS = ("above below", "after before", "inside outside", "less more", "over under", "with without")
"""Opposite prepositions and quantifiers: WordNet has no prepositions."""
TELLING_TOGETHER = ("back front",)
"""Opposites of which one is too common to tell anything beside any other word."""
SHORTEST = 3
"""Letters. The opposites of shorter words (`no`, `up`, `in`) are too common to tell anything."""
TOO_COMMON = frozenset(
    "all back come first get give find have head here keep last level live make man mind one other right same second "
    "side some stand take there woman".split()
)
"""Words of so many senses that an opposite nearby says nothing."""
LICENCE = """\
# Opposites and irregular forms from WordNet 3.0, for quoth.language.opposites; made by tools/make_opposites.py.
#
# WordNet 3.0 Copyright 2006 by Princeton University. All rights reserved. Permission to use, copy, modify and
# distribute this software and database and its documentation for any purpose and without fee or royalty is hereby
# granted, provided that you agree to comply with the following copyright notice and statements, including the
# disclaimer, and that the same appear on ALL copies of the software, database and documentation, including
# modifications that you make for internal use or for distribution. THIS SOFTWARE AND DATABASE IS PROVIDED "AS IS" AND
# PRINCETON UNIVERSITY MAKES NO REPRESENTATIONS OR WARRANTIES, EXPRESS OR IMPLIED. BY WAY OF EXAMPLE, BUT NOT
# LIMITATION, PRINCETON UNIVERSITY MAKES NO REPRESENTATIONS OR WARRANTIES OF MERCHANTABILITY OR FITNESS FOR ANY
# PARTICULAR PURPOSE OR THAT THE USE OF THE LICENSED SOFTWARE, DATABASE OR DOCUMENTATION WILL NOT INFRINGE ANY THIRD
# PARTY PATENTS, COPYRIGHTS, TRADEMARKS OR OTHER RIGHTS. The name of Princeton University or Princeton may not be used
# in advertising or publicity pertaining to distribution of the software and/or database. Title to copyright in this
# software, database and any associated documentation shall at all times remain with Princeton University and LICENSEE
# agrees to preserve same.
#
# `a b`: two opposites. `form < base`: an irregular form of one of them.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    folder: Path = parser.parse_args().wordnet
    if not (folder / "data.adj").is_file():
        print(f"{folder} does not hold WordNet: apt-get install wordnet-base", file=sys.stderr)
        return 1
    pairs = {tuple(sorted(pair)) for part in PARTS_OF_SPEECH for pair in antonyms(folder / f"data.{part}")}
    kept = {" ".join(pair) for pair in pairs if all(map(is_telling, pair))} | {*CLOSED_CLASS, *TELLING_TOGETHER}
    known = {word for pair in kept for word in pair.split()}
    forms = {
        f"{form} < {base}"
        for part in PARTS_OF_SPEECH
        for form, base in irregular_forms(folder / f"{part}.exc")
        if base in known and form not in known and form.isalpha()
    }
    TARGET.write_text(LICENCE + "\n".join([*sorted(kept), *sorted(forms)]) + "\n", encoding="utf-8")
    print(f"{TARGET.name}: {len(kept)} pairs, {len(forms)} irregular forms")
    return 0


def is_telling(word: str) -> bool:
    return word.isalpha() and word.isascii() and len(word) >= SHORTEST and word not in TOO_COMMON


def antonyms(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the words that a file of synsets (see wndb(5)) calls opposites, and the synonyms of either."""
    synsets: dict[str, tuple[list[str], list[list[str]]]] = {}
    for line in path.read_text(encoding="ascii").splitlines():
        if line.startswith("  "):
            continue
        fields = line.partition(" | ")[0].split()
        pointers = 4 + 2 * int(fields[3], 16)
        words = [re.sub(r"\(.*\)", "", word).lower() for word in fields[4:pointers:2]]
        starts = range(pointers + 1, pointers + 1 + 4 * int(fields[pointers]), 4)
        synsets[fields[0]] = words, [fields[start : start + 4] for start in starts]
    for words, related in synsets.values():
        for symbol, target, *_ in related:
            if symbol == "!" and target in synsets:
                yield from product(words, synsets[target][0])


def irregular_forms(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text(encoding="ascii").splitlines():
        form, base, *_ = line.split()
        yield form, base


if __name__ == "__main__":
    sys.exit(main())
