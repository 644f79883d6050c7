"""Draw a page of the PDF on the standard input as PNG on the standard output: NUMBER WIDTH MEMORY_MB."""

from __future__ import annotations

import io
import resource
import sys

_LARGEST = 4_000
"""Pixels in height: a page may be a mile long."""


def main() -> None:
    number, width, memory_mb = (int(one) for one in sys.argv[1:4])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_mb * 2**20, resource.getrlimit(resource.RLIMIT_AS)[1]))
    import pypdfium2

    document = pypdfium2.PdfDocument(sys.stdin.buffer.read())
    page = document[number - 1]
    across, down = page.get_size()
    scale = min(width / across, _LARGEST / down)
    drawn = io.BytesIO()
    page.render(scale=scale).to_pil().convert("RGB").save(drawn, "PNG", optimize=False)
    sys.stdout.buffer.write(drawn.getvalue())


if __name__ == "__main__":
    main()
