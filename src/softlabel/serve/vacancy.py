"""Whether anything is left to give out, asked before people read nine pages for nothing."""

from __future__ import annotations

import math
import secrets
from collections import OrderedDict
from hashlib import blake2b
from ipaddress import IPv6Address, ip_address, ip_network

from fastapi import Request

from softlabel.serve.plans import portion_size
from softlabel.serve.site import Site, read, written
from softlabel.study import Study

FRESH = 5.0  # seconds for which the last look still counts: many people arrive at once
LATER = "60"  # seconds until somebody who has to wait tries again
MOST_NETWORKS = 50_000
HOME = 64  # bits of an IPv6 address that stay the same within one household


class Vacancy:
    """Looks at the store every few seconds at most."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._full, self._seen = False, float("-inf")

    async def is_full(self) -> bool:
        """Whether every item is answered or held by somebody who is still at work."""
        now = self.site.now()
        if now - self._seen > FRESH:
            self._seen = now
            self._full = await self._look(now)
        return self._full

    async def _look(self, now: float) -> bool:
        store, name = self.site.store, self.site.study.name
        batches = bool(self.site.study.batches)
        if await read(store.has_room, name, batches=batches):
            return False
        await written(store.release_expired(name, now))
        return not await read(store.has_room, name, batches=batches)


class Newcomers:
    """People who were given items and have not answered any, counted by network address.

    Whoever opens an open study again and again would otherwise hold all its places.  An address
    is kept for as long as such a person holds items, in memory only, and only as a hash whose key
    ends with the process.
    """

    def __init__(self, site: Site) -> None:
        self.site, self.most = site, most_newcomers(site.study)
        self.patience = 60.0 * site.study.lease_minutes
        self._key = secrets.token_bytes(32)
        self._came: OrderedDict[bytes, dict[str, float]] = OrderedDict()  # session -> when

    async def admit(self, request: Request, session: str) -> bool:
        """Whether this person may have items now; if so, they are one of the newcomers."""
        network = network_of(request.client.host if request.client else "")
        if network is None or not self.site.recruiter.walk_in:
            return True
        key = blake2b(network.encode(), key=self._key).digest()
        if len(self._came.get(key, ())) >= self.most:
            await self._look(key)
        came = self._came.setdefault(key, {})
        admitted = session in came or len(came) < self.most
        if admitted:  # counted at once: no other request gets in between
            came[session] = self.site.now()
        self._came.move_to_end(key)
        await self._tidy()
        return admitted

    async def _look(self, key: bytes) -> None:
        """Keep only those who still hold items, or were let in a moment ago."""
        came = dict(self._came.get(key, {}))
        ends = await read(self.site.store.unanswered, list(came))
        now = self.site.now()
        for session, since in came.items():
            end = ends.get(session, -1.0)
            if (end or since + self.patience) <= now:
                self._came.get(key, {}).pop(session, None)

    async def _tidy(self) -> None:
        """Forget the address that was seen longest ago, unless somebody there holds items."""
        key, came = next(iter(self._came.items()))
        if max(came.values(), default=0.0) + self.patience <= self.site.now():
            await self._look(key)
            if self._came.get(key):
                self._came.move_to_end(key)
            else:
                self._came.pop(key, None)
        while len(self._came) > MOST_NETWORKS:
            self._came.popitem(last=False)


def most_newcomers(study: Study) -> int:
    """Half of the people who could hold all places of the study between them."""
    held = portion_size(study)
    places = math.ceil(len(study.items) * study.per_item / held)
    if study.batches:
        places = len(study.batches) * study.per_item
    return max(1, max(study.per_item, places) // 2)


def network_of(address: str) -> str | None:
    """What one subscriber has: an IPv4 address, or the first half of an IPv6 address.

    None if it says nothing about people: this machine, which is also where a proxy is that does
    not tell whom it speaks for.
    """
    try:
        known = ip_address(address)
    except ValueError:
        return None
    if isinstance(known, IPv6Address):
        known = known.ipv4_mapped or known
    if known.is_loopback:
        return None
    whole = HOME if known.version == 6 else known.max_prefixlen
    return str(ip_network((known, whole), strict=False))
