"""What comes through from files that LibreOffice made of the sample guides."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .samples import EXAMPLES

SCRIPT = Path(__file__).parents[2] / "tools" / "extraction.py"


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_nearly_every_sentence_of_a_guide_comes_back_whole_and_every_slice_is_exact() -> None:
    guide = str(EXAMPLES / "agriculture" / "canola")
    command = [sys.executable, str(SCRIPT), "--docs", guide, "--limit", "1", "--floor", "0.95"]
    done = subprocess.run(command, capture_output=True, timeout=300, check=False, encoding="utf-8")

    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == ["PDF,", "PDF,", "DOCX", "HTML"]
