"""A server on this machine that speaks S3, with one bucket."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from quoth.stores.locations import Location, open_location

BUCKET = "bucket"


@dataclass(frozen=True, slots=True)
class Storage:
    """`variables` are what a program needs to reach it; `client` is boto's."""

    variables: dict[str, str]
    client: Any

    def names(self) -> list[str]:
        listed = self.client.list_objects_v2(Bucket=BUCKET)
        return [one["Key"] for one in listed.get("Contents", ())]


@contextmanager
def object_storage() -> Iterator[Storage]:
    """An empty bucket; this process finds it as well."""
    import boto3  # type: ignore[import-untyped]
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    variables = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "unimportant",
        "AWS_REGION": "us-east-1",
    }
    client = boto3.client(
        "s3",
        endpoint_url=variables["AWS_ENDPOINT_URL"],
        region_name="us-east-1",
        aws_access_key_id="somebody",
        aws_secret_access_key="unimportant",  # noqa: S106 - nobody asks for it
    )
    client.create_bucket(Bucket=BUCKET)
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        for name, value in variables.items():
            patch.setenv(name, value)
        try:
            yield Storage(variables, client)
        finally:
            client.close()
            server.stop()


@pytest.fixture(scope="module")
def storage() -> Iterator[Storage]:
    with object_storage() as found:
        yield found


@pytest.fixture(params=["folder", "objects"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    """An empty place of either kind."""
    if request.param == "folder":
        return open_location(tmp_path / "index")
    request.getfixturevalue("storage")
    return open_location(f"s3://{BUCKET}/{tmp_path.name}")
