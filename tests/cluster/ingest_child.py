"""`quoth cluster ingest` as a program that tells, as JSON, how many sentences it embedded and what it reports.

python ingest_child.py FOLDER OUTPUT ADDRESS SHARDS
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from quoth.cluster.ingest_driver import ClusterIngest, ingest
from quoth.overrides import NO_OVERRIDES, Overrides

HASH = Overrides({"embedding": {"model_name": "hash"}}, NO_OVERRIDES.environment, NO_OVERRIDES.flags)


def main() -> None:
    folder, output, address, shards = sys.argv[1:]
    embedded = [0]

    def progress(what: str, done: int, _: int) -> None:
        if what == "embedding":
            embedded.append(done)

    job = ClusterIngest(
        paths=(Path(folder),),
        output=output,
        shards=int(shards),
        profile=None,
        prune=False,
        overrides=HASH,
        address=address or None,
        workers=2,
        gpus_per_worker=0,
    )
    report = ingest(job, progress=progress)
    told = {"embedded": max(embedded), "digest": report.info.digest, "written": len(report.written)}
    print(json.dumps(told), flush=True)  # noqa: T201 - that is what it is for


if __name__ == "__main__":
    main()
