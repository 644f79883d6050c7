"""What an ingest begins with: the index that is published, if one is, and what it is to be made with."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from quoth.cluster import parts
from quoth.errors import IndexMismatch, NoIndex, SettingsError
from quoth.profile import Profile
from quoth.profiles import DEFAULT_PROFILE, load_profile, parse_profile
from quoth.settings import Overrides
from quoth.stores.embedded import schema
from quoth.stores.places import Place
from quoth.stores.sharded import listing, manifest
from quoth.stores.sharded.fetched import check_there
from quoth.stores.sharded.manifest import Cluster, ShardEntry
from quoth.types import Known, ModelIdentity
from quoth.wiring import open_embedder

DEFAULT_SHARDS = 4


class State:
    """What is at the place before, and what it is to be made with."""

    def __init__(self, place: Place, *, shards: int | None, profile: str | None, overrides: Overrides) -> None:
        self.place = place
        self.before: Cluster | None = None
        self.version: str | None = None
        _check_place(place)
        with suppress(NoIndex):
            self.before, self.version = manifest.versioned(place)
        self.shards = _number_of_shards(self.before, shards, place)
        self.profile = _profile(self.before, profile)
        self.settings = overrides.over(self.profile.settings, profile=self.profile.name)
        # Here the model only says which one it is; the device is no part of that.
        self.model = open_embedder(replace(self.settings.embedding, device="cpu")).identity
        if self.before is not None and self.before.info.model != self.model:
            raise IndexMismatch(
                f"the index at {place.uri} was made with {_named(self.before.info.model)}, not {_named(self.model)}",
                hint="Set embedding.model_name to the index's model, or give another --output.",
            )
        self.entries: tuple[ShardEntry, ...] = self.before.shards if self.before else ()
        for entry in self.entries:  # also of one that will stay as it is: it is published anew with the others
            check_there(place, entry)
        self.known_by_shard = tuple(listing.read(place, entry) for entry in self.entries)
        self.known: dict[str, Known] = {id_: one for known in self.known_by_shard for id_, one in known.items()}
        self.key = parts.work_key(self.model, self.shards)


def _check_place(place: Place) -> None:
    if place.folder is not None and schema.identify(place.folder) is not None:
        raise IndexMismatch(
            f"{place.uri} holds an index that is not made of shards", hint="Give another folder with --output."
        )


def _number_of_shards(before: Cluster | None, shards: int | None, place: Place) -> int:
    if before is None:
        return shards or DEFAULT_SHARDS
    if shards not in {None, len(before.shards)}:
        raise SettingsError(
            f"the index at {place.uri} has {len(before.shards)} shards, not {shards}",
            hint=f"Leave --shards {shards} out, or give another --output to make a new index.",
        )
    return len(before.shards)


def _profile(before: Cluster | None, profile: str | None) -> Profile:
    if profile:
        return load_profile(profile)
    return parse_profile(before.info.profile_source) if before else load_profile(DEFAULT_PROFILE)


def _named(model: ModelIdentity) -> str:
    return f"{model.name} ({model.revision}, {model.precision}, {model.dimension} dimensions)"
