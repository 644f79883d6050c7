"""The section path, kept while the headings of a document go by."""

from __future__ import annotations


class Outline:
    """Follows headings in reading order; a heading ends every section of its own level and below."""

    def __init__(self) -> None:
        self._headings: list[tuple[int, str]] = []

    @property
    def section(self) -> tuple[str, ...]:
        """The titles that what comes now stands under, outermost first."""
        return tuple(title for _, title in self._headings)

    @property
    def level(self) -> int | None:
        """The level of the innermost section, None outside all."""
        return self._headings[-1][0] if self._headings else None

    def enter(self, level: int, title: str) -> tuple[str, ...]:
        """Begin the section `title`; 1 is the highest level. Return its path, itself included."""
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        if title:
            self._headings.append((level, title))
        return self.section
