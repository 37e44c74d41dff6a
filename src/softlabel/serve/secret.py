"""What only the server knows: the key of pseudonyms, and a hash of the researcher's token."""

from __future__ import annotations

import base64
import hmac
import json
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from softlabel.errors import SoftlabelError

FOLDER = ".softlabel"
NAME = "secret.json"
TOKEN_BYTES = 32


@dataclass(frozen=True)
class Secret:
    """``key`` makes pseudonyms and signs; ``researcher`` is the hash of a token, or empty.

    ``databases`` are the ids of the databases that it belongs to, by their places.
    """

    key: bytes
    researcher: str
    databases: Mapping[str, str] = field(default_factory=dict)

    def pseudonym(self, kind: str, platform_id: str) -> str:
        """The name under which a person is stored; without the key nobody finds the way back."""
        return self.sign(f"{kind}:{platform_id}")[:16]

    def deletion_code(self, annotator: str) -> str:
        """What a person without a name quotes to have their answers deleted.

        It is not the pseudonym: that one is published with the answers, and whoever reads it
        there could ask in somebody else's place.
        """
        letters = base64.b32encode(bytes.fromhex(self.sign(f"deletion:{annotator}"))).decode()
        return f"{letters[:5]}-{letters[5:10]}"

    def sign(self, text: str) -> str:
        """A keyed hash in hex."""
        return hmac.new(self.key, text.encode(), sha256).hexdigest()

    def is_researcher(self, token: str) -> bool:
        """Whether this is the token that was printed."""
        return hmac.compare_digest(hash_token(token), self.researcher)


@dataclass(frozen=True)
class Handover:
    """How the researcher gets a token: ``renew`` makes another one, ``file`` takes it instead of
    the terminal, so that it does not stay in a log.  Without ``wanted`` none is made: nobody reads
    what a server prints that another program has started."""

    renew: bool = False
    file: Path | None = None
    wanted: bool = True

    def check(self) -> None:
        """Refuse a file that could not be written, while no token exists that could be lost."""
        folder = self.file.absolute().parent if self.file else None
        if folder and not (folder.is_dir() and os.access(folder, os.W_OK)):
            raise SoftlabelError(f"--token-file {self.file}: cannot write into {folder}")

    def give(self, token: str) -> str:
        """Hand over a token that is valid by now; the line to print about it."""
        told = f"the researcher's token, shown this once: {token}"
        if self.file is None:
            return told
        try:
            write_private(self.file, f"{token}\n", instead=True)
        except OSError as wrong:
            return f"{self.file}: {wrong.strerror}, so here is {told}"
        return f"the researcher's token is in {self.file}; read it once and delete the file"


def new_token() -> str:
    """256 random bits that fit into an address."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def hash_token(token: str) -> str:
    """All that is ever stored of a token.  Tokens are random, so one round is enough."""
    return sha256(token.encode()).hexdigest()


def folder_of(study_folder: Path) -> Path:
    """Where the server keeps what is its own; made on first use, closed to other users."""
    folder = study_folder / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def open_secret(study_folder: Path) -> Secret:
    """The secret of a study, made on first use; the server adds the researcher's token."""
    path = folder_of(study_folder) / NAME
    if not path.exists():
        _write(path, Secret(secrets.token_bytes(32), researcher=""), instead=False)
    return read_secret(path)


def open_with_token(study_folder: Path, *, renew: bool = False) -> tuple[Secret, str | None]:
    """The secret and, if none was given out before or ``renew`` says so, the researcher's token."""
    path = folder_of(study_folder) / NAME
    token = new_token()
    first = Secret(secrets.token_bytes(32), hash_token(token))
    if not path.exists() and _write(path, first, instead=False):
        return first, token
    found = read_secret(path)
    if found.researcher and not renew:
        return found, None
    changed = replace(found, researcher=hash_token(token))
    _write(path, changed, instead=True)
    return changed, token


def remember_database(study_folder: Path, place: str, id: str | None) -> None:
    """Write down which database is at this place; None: whichever is found there next."""
    path = folder_of(study_folder) / NAME
    found = read_secret(path)
    if found.databases.get(place) != id:
        others = {where: one for where, one in found.databases.items() if where != place}
        databases = others if id is None else {**others, place: id}
        _write(path, replace(found, databases=databases), instead=True)


def read_secret(path: Path) -> Secret:
    """The secret in a file that only its owner can read."""
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise SoftlabelError(
            f"{path}: other users of this machine may read this file, so it is no secret; "
            f"close it with: chmod 600 {path}"
        )
    try:
        fields = json.loads(path.read_text())
        databases = {str(place): str(id) for place, id in fields.get("databases", {}).items()}
        return Secret(bytes.fromhex(fields["key"]), str(fields["researcher"]), databases)
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        raise SoftlabelError(
            f'{path}: must be {{"key": hex, "researcher": hex}} as softlabel wrote it; '
            "restore it from a backup, since pseudonyms depend on it"
        ) from wrong


def _write(path: Path, secret: Secret, *, instead: bool) -> bool:
    fields = {"key": secret.key.hex(), "researcher": secret.researcher}
    text = json.dumps(fields | ({"databases": secret.databases} if secret.databases else {}))
    return write_private(path, text + "\n", instead=instead)


def write_private(path: Path, text: str, *, instead: bool) -> bool:
    """Write the whole file or nothing, closed to other users; False if another process was first
    and nothing may be put instead of it."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        if instead:
            os.replace(draft, path)
        else:
            os.link(draft, path)  # unlike rename, refuses where a file stands already
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True
