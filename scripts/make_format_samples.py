"""Make the files of examples/formats anew that are not text: a PDF in two columns, a Word file and a scanned page.

    python scripts/make_format_samples.py

Needs LibreOffice and Pillow (in requirements/dev.txt). The words are our own; the cooperative does not exist.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from flat_office import B5, flat_document
from PIL import Image, ImageDraw, ImageFont

from quoth.text.sentences import split

TARGET = Path(__file__).resolve().parents[1] / "examples" / "formats"

HANDBOOK = """# Storage Handbook of the Larch Hollow Cooperative

This handbook tells the members of the Larch Hollow Cooperative how grain is received, dried and kept in the silos of
the cooperative. It replaces the leaflets that were handed out with each delivery.

## 1 Receiving grain

Grain is received from 06:00 to 20:00 on working days during harvest, and by appointment at other times. Every load is
weighed, sampled at five places with a probe, and tested for moisture, foreign matter and live insects before it is
tipped. A load that holds live insects is not tipped: it goes back to the member, who may fumigate it and deliver it
again after seven days.

Wheat is accepted up to a moisture of 18 percent, corn up to 26 percent and canola up to 12 percent. Wetter loads are
accepted only when the dryer has room, which the yard manager decides on the spot. The member is told the result of each
test in writing, with the number of the sample, and may ask for a second test within 24 hours.

## 2 Drying

Seed grain is dried at no more than 43 degrees Celsius, milling wheat at no more than 60 degrees Celsius, and feed grain
at no more than 80 degrees Celsius. The temperature is that of the grain, not of the air. Drying is stopped two points
above the target when the grain is to be cooled slowly in the bin, because it goes on losing water while it cools.

| Crop | Safe moisture for six months | Safe moisture for a year |
|---|---|---|
| Wheat | 14.0 percent | 13.0 percent |
| Corn | 14.5 percent | 13.0 percent |
| Canola | 9.0 percent | 8.0 percent |
| Soybean | 13.0 percent | 12.0 percent |

## 3 Keeping grain

### 3.1 Aeration

Fans are run as soon as the floor of a silo is covered. Grain is cooled in steps of about six degrees, first to 20, then
to 14 and by December to 8 degrees Celsius. A cooling front takes some 150 hours to pass through a silo at an airflow of
7 litres a second for each tonne. Fans stand still in fog and rain, except where the grain is heating.

### 3.2 Inspection

From April to October each silo is inspected every two weeks, and from November to March every four weeks. The
inspector:

- reads the temperature cables and writes down any rise of more than three degrees since the last reading;
- looks for crusts, wet spots and a musty smell at the hatch;
- sieves a sample of one kilogram from the surface for insects.

Nobody enters a silo alone. The unloading auger is locked and the key is in the pocket of the person who goes in, who
wears a harness and is watched by a second person at the hatch.

## 4 Charges

Members pay 9.40 for each tonne received, 1.15 for each tonne and point of moisture removed, and 1.80 for each tonne and
month of storage after the first month. Charges are settled on the last working day of a month. A member who disputes a
charge writes to the office within 30 days; the board decides at its next meeting.

## 5 Liability

The cooperative answers for grain from the moment it is tipped until it is loaded again. It does not answer for losses
of weight of up to 0.5 percent, which every grain suffers in handling, nor for damage by flood where the warning of the
river authority came less than 48 hours before.
"""

RULES = """# Delivery Rules

## 1. Booking

Members book deliveries by telephone or on the board in the office, at the latest by 17:00 on the day before. A booking
that is not kept for two hours lapses.

## 2. Vehicles

The following vehicles may not enter the yard:

- trailers without working brakes;
- vehicles of more than 40 tonnes;
- loads that are not covered.

## 3. Order of tipping

Wet corn is tipped before dry corn, and seed grain before everything else. The yard manager may change the order when
rain is near.
"""

MINUTES = [
    "LARCH HOLLOW COOPERATIVE",
    "",
    "Minutes of the meeting of 14 March",
    "",
    "The board decided to replace the dust filter of silo 3",
    "before the next harvest. The cost is estimated at 18,500.",
    "",
    "The insurance of the weighbridge was renewed for two",
    "years. Members were reminded that dogs are not allowed",
    "in the yard.",
]


def main() -> int:
    office = shutil.which("soffice")
    if office is None:
        print("LibreOffice is not installed: apt-get install libreoffice-writer-nogui", file=sys.stderr)
        return 2
    TARGET.mkdir(exist_ok=True)
    bookmarks = 'pdf:writer_pdf_Export:{"ExportBookmarks":{"type":"boolean","value":"true"}}'
    _convert(office, HANDBOOK, "handbook.pdf", bookmarks, columns=2)
    _convert(office, RULES, "delivery-rules.docx", "docx", columns=1)
    _scan(TARGET / "minutes-scan.pdf")
    return 0


def _convert(office: str, text: str, name: str, export: str, *, columns: int) -> None:
    regions = [region for region, _ in split(text, format="markdown")]
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, name).with_suffix(".fodt")
        source.write_text(
            flat_document(text, regions, title="Larch Hollow Cooperative", columns=columns, paper=B5), "utf-8"
        )
        profile = f"-env:UserInstallation={Path(scratch, 'profile').as_uri()}"
        command = [office, profile, "--headless", "--convert-to", export, "--outdir", str(TARGET), str(source)]
        subprocess.run(command, check=True, capture_output=True, timeout=300)


def _scan(path: Path) -> None:
    """A page of type as a picture, a little grey and askew."""
    page = Image.new("L", (1240, 800), 246)
    drawn = ImageDraw.Draw(page)
    font = ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf", 32)
    for number, line in enumerate(MINUTES):
        drawn.text((120, 110 + 46 * number), line, fill=40, font=font)
    page.rotate(0.4, fillcolor=246, resample=Image.Resampling.BICUBIC).save(path, resolution=150, quality=60, title="")


if __name__ == "__main__":
    sys.exit(main())
