"""Receipts that are watched in a table: an ingest names those that it made stale."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from citations.receipts import quote_of, receipt_of
from doors.command_line import run
from quoth.errors import IndexFault
from quoth.stores.postgres.postgres_receipts import kept_receipts

GUIDE = "# Canola\n\nSow canola at 2.5 cm. Roll it.\n"


@pytest.mark.parametrize("kind", ["text", "jsonb"])
def test_an_ingest_names_the_stale_receipts_of_a_table(
    database_url: str, schema: str, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "canola.md").write_text(GUIDE, encoding="utf-8")
    table = f"{schema}.kept"
    settings = ["--set", f"store.schema={schema}", "--set", "embedding.model_name=hash"]
    settings += ["--set", f"receipts.watch=table:{table}"]
    first = run("ingest", tmp_path, "--index", database_url, *settings)
    assert first.code == 0, first.talk
    assert f"the table '{table}' of receipts cannot be read" in first.talk
    receipt = receipt_of(quote_of(tmp_path, "canola.md", "Sow canola at 2.5 cm."))
    with psycopg.connect(database_url) as connection:
        made = sql.SQL("CREATE TABLE {} (name text, receipt {})")
        connection.execute(made.format(sql.Identifier(schema, "kept"), sql.SQL(kind)))
        rows = sql.SQL("INSERT INTO {} VALUES ('depth', %s), ('other', '{{}}')").format(sql.Identifier(schema, "kept"))
        connection.execute(rows, [json.dumps(receipt)])

    (tmp_path / "canola.md").write_text(GUIDE.replace("2.5", "3"), encoding="utf-8")
    talk = run("ingest", tmp_path, "--index", database_url, *settings).talk

    assert "1 of 1 saved receipts quote documents that changed (depth); quoth anchor RECEIPTS" in talk
    assert "a receipt that is watched cannot be read: other: it is no receipt of version 1" in talk


def test_a_table_that_is_not_there_is_named(database_url: str, schema: str) -> None:
    with pytest.raises(IndexFault, match="the table 'none' of receipts cannot be read"):
        kept_receipts(database_url, schema=schema, table="none")


def test_a_folder_has_no_table(tmp_path: Path) -> None:
    (tmp_path / "canola.md").write_text(GUIDE, encoding="utf-8")
    index = tmp_path / "index"
    talk = run("ingest", tmp_path / "canola.md", "--index", index, "--set", "receipts.watch=table:kept").talk

    assert "only an index in a database is asked for a table of receipts" in talk
