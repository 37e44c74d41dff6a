"""The researcher's login: a token opens the dashboard, and a signed cookie keeps it open."""

import asyncio
import hmac
import os
import secrets
from typing import Any

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from softlabel.serve.secret import FOLDER, make_private_folder
from softlabel.serve.site import Site, read_form

COOKIE = "softlabel_research"
HOME, LOGIN = "/research", "/research/login"
LASTS = 12 * 3600  # seconds
SLOW = 0.5  # seconds that a wrong token waits; the guard limits how many may be tried
SEE_OTHER = 303
NONCE = 32  # characters; what follows them is the name
LONGEST_NAME = 100  # bytes
NOBODY = "researcher"  # who gave no name


class Login:
    """Log the researcher in and out, and check whether they are logged in.

    ``logged_out`` holds an empty file for each cookie that was logged out before its time, named by
    the end of the cookie, so that a restart and other servers of the same folder know of it.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self.logged_out = site.study.folder / FOLDER / "logged-out"
        self.options: dict[str, Any] = {"path": HOME, "secure": site.secure}  # of the cookie
        self.options |= {"httponly": True, "samesite": "strict"}

    async def page(self, request: Request) -> Response:
        """The form that asks for the token."""
        if self.is_open(request):
            return RedirectResponse(HOME, SEE_OTHER)
        return self.site.render("research/login.html", failed=False)

    async def login(self, request: Request) -> Response:
        """Compare in constant time; answer a wrong token late and with little detail."""
        fields = await read_form(request)
        token = fields.get("token", "").strip()
        if not self.site.secret.is_researcher(token):
            await asyncio.sleep(SLOW)
            return self.site.render("research/login.html", 401, failed=True)
        response = RedirectResponse(HOME, SEE_OTHER)
        nonce = secrets.token_hex(16) + encode_name(fields.get("name", ""))
        cookie = self._cookie(int(self.site.now()) + LASTS, nonce)
        response.set_cookie(COOKIE, cookie, max_age=LASTS, **self.options)
        return response

    async def logout(self, request: Request) -> Response:
        """Close the door behind this cookie, here and in the browser."""
        if self.is_open(request):
            until, nonce, _ = request.cookies[COOKIE].split(".")
            await asyncio.to_thread(self._forget, int(until), nonce)
        response = RedirectResponse(LOGIN, SEE_OTHER)
        response.delete_cookie(COOKIE, **self.options)
        return response

    def require(self, request: Request) -> None:
        """Send whoever is not logged in to the login page."""
        if not self.is_open(request):
            raise HTTPException(SEE_OTHER, headers={"location": LOGIN})

    def actor(self, request: Request) -> str:
        """Return the name that whoever is logged in gave, for the audit log."""
        return decode_name(request.cookies.get(COOKIE, "").split(".")[1][NONCE:])

    def is_open(self, request: Request) -> bool:
        """Whether the request brings a cookie that we signed and that is still valid."""
        cookie = request.cookies.get(COOKIE, "")
        until, _, rest = cookie.partition(".")
        nonce = rest.partition(".")[0]
        if not (until.isascii() and until.isdigit() and len(until) < 15):
            return False
        right = self._cookie(int(until), nonce)
        ours = hmac.compare_digest(cookie.encode("utf-8", "replace"), right.encode())
        valid = ours and int(until) > self.site.now()
        return valid and not (self.logged_out / f"{int(until)}.{nonce}").exists()

    def _forget(self, until: int, nonce: str) -> None:
        """Refuse a cookie for as long as it would have lasted."""
        make_private_folder(self.site.study.folder)
        self.logged_out.mkdir(mode=0o700, exist_ok=True)
        for past in self.logged_out.iterdir():
            if past.name.partition(".")[0] < str(int(self.site.now())):
                past.unlink(missing_ok=True)
        (self.logged_out / f"{until}.{nonce}").touch(mode=0o600)
        if os.name == "posix":  # the new name is on the disk before anybody is told
            number = os.open(self.logged_out, os.O_RDONLY)
            os.fsync(number)
            os.close(number)

    def _cookie(self, until: int, nonce: str) -> str:
        """Sign the token's hash as well: a new token ends every login by the old one."""
        secret = self.site.secret
        return f"{until}.{nonce}.{secret.sign(f'research:{until}:{nonce}:{secret.researcher}')}"


def encode_name(name: str) -> str:
    """Return a name as letters and digits, at most ``LONGEST_NAME`` bytes of it.

    >>> decode_name(encode_name("Zoë")), decode_name(encode_name(" "))
    ('Zoë', 'researcher')
    """
    printable = "".join(c for c in name.strip() if c.isprintable())
    return printable.encode("utf-8", "replace")[:LONGEST_NAME].hex()


def decode_name(text: str) -> str:
    """Return the name that ``encode_name`` was given, or the name of nobody in particular."""
    return bytes.fromhex(text).decode("utf-8", "ignore") or NOBODY
