"""One index of several embedded indexes, which answers as one embedded index of the same documents would."""

from quoth.stores.sharded.assign import assign
from quoth.stores.sharded.build import publish, write_shards
from quoth.stores.sharded.store import ShardedStore

__all__ = ["ShardedStore", "assign", "publish", "write_shards"]
