"""Signed entry: Prolific's secure links carry a token (JWT) instead of plain ids.

The token is signed with a key that Prolific publishes.  Published keys are kept for a day, and are
fetched again when a token names a key that is not among them, at most once a minute: anybody can
send a token with a name that nobody knows.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection
from typing import Any

import httpx
import jwt

from softlabel.errors import SoftlabelError

ISSUER = "https://www.prolific.com"
KEYS = "/.well-known/study/jwks.json"
DAY, MINUTE = 86_400.0, 60.0
LEEWAY = 30.0  # seconds by which two clocks may differ
LONGEST = 8_192  # characters; a real token has about a thousand
TIMEOUT = 5.0

log = logging.getLogger("softlabel.serve")


class Unsigned(SoftlabelError):
    """A token that proves nothing."""


class NoKeys(SoftlabelError):
    """The keys cannot be fetched, so nobody can be recognised now."""


class KeyRing:
    """The public keys at an address, by their ids."""

    def __init__(self, base: str, now: Callable[[], float] = time.monotonic) -> None:
        self.address, self.now = base.rstrip("/") + KEYS, now
        self._keys: dict[str, Any] = {}
        self._read_at: float | None = None
        self._tried_at = -MINUTE
        self._lock = threading.Lock()

    def find(self, id: str) -> Any:
        """Return the key with this id; fetch the keys if they are a day old or lack it."""
        with self._lock:
            now = self.now()
            old = self._read_at is None or now - self._read_at >= DAY
            if (old or id not in self._keys) and now - self._tried_at >= MINUTE:
                self._tried_at = now
                self._fetch(now)
            if id in self._keys:
                return self._keys[id]
            if self._read_at is None:
                raise NoKeys(f"{self.address}: the keys cannot be read")
            raise Unsigned(f"no published key is called {id[:40]!r}")

    def _fetch(self, now: float) -> None:
        """Replace the keys by the published ones; old keys are kept if that fails."""
        try:
            reply = httpx.get(self.address, timeout=TIMEOUT).raise_for_status()
            found = jwt.PyJWKSet.from_dict(reply.json()).keys
        except (httpx.HTTPError, ValueError, TypeError, AttributeError, jwt.PyJWTError) as error:
            log.warning("%s: the keys cannot be read (%s)", self.address, type(error).__name__)
            return
        self._keys = {key.key_id: key.key for key in found if key.key_id}
        self._read_at = now


class Verifier:
    """Check tokens that are meant for one of our names."""

    def __init__(self, ring: KeyRing, audience: Collection[str]) -> None:
        self.ring = ring
        self.audience = [form for name in audience for form in _forms(name)]

    def read(self, token: str) -> dict[str, str]:
        """Return the ids in a token: PROLIFIC_PID, STUDY_ID, SESSION_ID."""
        if len(token) > LONGEST:
            raise Unsigned(f"a token of {len(token)} characters is none of Prolific's")
        try:
            key = self.ring.find(str(jwt.get_unverified_header(token).get("kid", "")))
            claims = jwt.decode(
                token,
                key,
                algorithms=["RS256"],  # never what the token itself asks for
                audience=self.audience,
                issuer=ISSUER,
                leeway=LEEWAY,
                options={"require": ["exp", "aud", "iss"]},
            )
        except jwt.PyJWTError as error:
            raise Unsigned(f"{type(error).__name__}: {error}") from None
        ids = claims.get("prolific")
        if not isinstance(ids, dict):
            raise Unsigned("the token has no claim called prolific")
        return {str(name): str(value) for name, value in ids.items()}


def _forms(name: str) -> tuple[str, ...]:
    """Return the ways to write a host as the audience of a token."""
    hosts = (name,) if name.startswith("[") else (name, name.rpartition(":")[0] or name)
    return tuple(
        f"{scheme}{host}{end}"
        for host in dict.fromkeys(hosts)
        for scheme in ("", "https://", "http://")
        for end in ("", "/")
    )
