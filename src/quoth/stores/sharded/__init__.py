"""One index of several embedded indexes, which answers as one embedded index of the same documents would."""

from quoth.stores.sharded.shard_protocol import assign
from quoth.stores.sharded.sharded_store import ShardedStore

__all__ = ["ShardedStore", "assign"]
