"""A script that draws one page of the PDF on standard input as a PNG on standard output.

Usage: draw_page.py NUMBER WIDTH MEMORY_MB. It imports nothing of Quoth, so that it starts fast.
"""

from __future__ import annotations

import io
import resource
import sys

_MOST_HEIGHT = 4_000  # pixels: a page may be a mile long


def main() -> None:
    number, width, memory_mb = (int(argument) for argument in sys.argv[1:4])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_mb * 2**20, resource.getrlimit(resource.RLIMIT_AS)[1]))
    import pypdfium2

    document = pypdfium2.PdfDocument(sys.stdin.buffer.read())
    page = document[number - 1]
    page_width, page_height = page.get_size()
    scale = min(width / page_width, _MOST_HEIGHT / page_height)
    picture = io.BytesIO()
    page.render(scale=scale).to_pil().convert("RGB").save(picture, "PNG", optimize=False)
    sys.stdout.buffer.write(picture.getvalue())


if __name__ == "__main__":
    main()
