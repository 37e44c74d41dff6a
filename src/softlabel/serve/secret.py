"""The secrets of a study: the key of the pseudonyms, and the hash of the researcher's token."""

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


@dataclass(frozen=True)
class Secret:
    """``key`` makes pseudonyms and signatures; ``researcher`` is the hash of a token, or empty.

    ``databases`` maps the place of each database that it belongs to to the database's id.
    """

    key: bytes
    researcher: str
    databases: Mapping[str, str] = field(default_factory=dict)

    def pseudonym(self, kind: str, platform_id: str) -> str:
        """Return the name under which a person is stored; only the key connects it to the id."""
        return self.sign(f"{kind}:{platform_id}")[:16]

    def deletion_code(self, annotator: str) -> str:
        """Return the code that an anonymous person quotes to have their answers deleted.

        It differs from the pseudonym, which is published with the answers: whoever reads it there
        could ask for somebody else's deletion.
        """
        letters = base64.b32encode(bytes.fromhex(self.sign(f"deletion:{annotator}"))).decode()
        return f"{letters[:5]}-{letters[5:10]}"

    def sign(self, text: str) -> str:
        """Return a keyed hash in hex."""
        return hmac.new(self.key, text.encode(), sha256).hexdigest()

    def is_researcher(self, token: str) -> bool:
        """Whether this is the token that was printed."""
        return hmac.compare_digest(hash_token(token), self.researcher)


@dataclass(frozen=True)
class Handover:
    """How the researcher gets a token.

    ``renew`` makes another one.  ``file`` receives it instead of the terminal, so that it does not
    stay in a log.  Without ``wanted`` none is made, for servers whose output nobody reads.
    """

    renew: bool = False
    file: Path | None = None
    wanted: bool = True

    def check(self) -> None:
        """Refuse a file that cannot be written, before a token is made that could be lost."""
        folder = self.file.absolute().parent if self.file else None
        if folder and not (folder.is_dir() and os.access(folder, os.W_OK)):
            raise SoftlabelError(f"--token-file {self.file}: cannot write into {folder}")

    def deliver(self, token: str) -> str:
        """Write a valid token to the file, if there is one; return the line to print."""
        line = f"the researcher's token, shown this once: {token}"
        if self.file is None:
            return line
        try:
            write_private(self.file, f"{token}\n", overwrite=True)
        except OSError as wrong:
            return f"{self.file}: {wrong.strerror}, so here is {line}"
        return f"the researcher's token is in {self.file}; read it once and delete the file"


def new_token() -> str:
    """Return 256 random bits as text that fits into an address."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """Return what is stored of a token.  Tokens are random, so one round of hashing is enough."""
    return sha256(token.encode()).hexdigest()


def make_private_folder(study_folder: Path) -> Path:
    """Return the server's own folder, made on first use and closed to other users."""
    folder = study_folder / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def open_secret(study_folder: Path) -> Secret:
    """Return the secret of a study, made on first use without a researcher's token."""
    path = make_private_folder(study_folder) / NAME
    if not path.exists():
        _write(path, Secret(secrets.token_bytes(32), researcher=""), overwrite=False)
    return read_secret(path)


def open_with_token(study_folder: Path, *, renew: bool = False) -> tuple[Secret, str | None]:
    """Return the secret, and a token if the study has none yet or if it is to be renewed."""
    path = make_private_folder(study_folder) / NAME
    token = new_token()
    first = Secret(secrets.token_bytes(32), hash_token(token))
    if not path.exists() and _write(path, first, overwrite=False):
        return first, token
    stored = read_secret(path)
    if stored.researcher and not renew:
        return stored, None
    changed = replace(stored, researcher=hash_token(token))
    _write(path, changed, overwrite=True)
    return changed, token


def remember_database(study_folder: Path, place: str, id: str | None) -> None:
    """Record which database is at this place; None accepts whichever is there next."""
    path = make_private_folder(study_folder) / NAME
    stored = read_secret(path)
    if stored.databases.get(place) != id:
        others = {where: one for where, one in stored.databases.items() if where != place}
        databases = others if id is None else {**others, place: id}
        _write(path, replace(stored, databases=databases), overwrite=True)


def read_secret(path: Path) -> Secret:
    """Read the secret from a file that only its owner can read."""
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise SoftlabelError(
            f"{path}: other users of this machine can read this file; "
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


def _write(path: Path, secret: Secret, *, overwrite: bool) -> bool:
    fields = {"key": secret.key.hex(), "researcher": secret.researcher}
    text = json.dumps(fields | ({"databases": secret.databases} if secret.databases else {}))
    return write_private(path, text + "\n", overwrite=overwrite)


def write_private(path: Path, text: str, *, overwrite: bool) -> bool:
    """Write the whole file or nothing, closed to other users.

    Return False if the file exists and may not be overwritten.
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        if overwrite:
            os.replace(draft, path)
        else:
            os.link(draft, path)  # unlike rename, fails if the file exists
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True
