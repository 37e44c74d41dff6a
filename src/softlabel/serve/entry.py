"""The ways in: the address itself, the recruiter's parameters, an invitation."""

from __future__ import annotations

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, Response

from softlabel.serve import flow
from softlabel.serve.leaving import Leaving
from softlabel.serve.pages import Pages, home
from softlabel.serve.recruit import Arrival, Refused
from softlabel.serve.secret import hash_token
from softlabel.serve.sessions import Sessions
from softlabel.serve.site import Site, read
from softlabel.serve.vacancy import Vacancy


class Entry:
    """Handlers of ``/`` and ``/i/TOKEN``."""

    def __init__(self, site: Site, sessions: Sessions, pages: Pages, leaving: Leaving) -> None:
        self.site, self.sessions, self.pages = site, sessions, pages
        self.leaving = leaving
        self.vacancy = Vacancy(site)

    def add_to(self, app: FastAPI) -> None:
        app.add_api_route("/", self.home, response_class=HTMLResponse)
        app.add_api_route("/i/{token}", self.invited, response_class=HTMLResponse)

    async def home(self, request: Request, page: str = "1") -> Response:
        """The page of the current stage; parameters of the recruiter are taken in and removed."""
        recruiter = self.site.recruiter
        arrival = recruiter.arrival(dict(request.query_params))
        if isinstance(arrival, Refused):
            return self._refuse(arrival)
        if arrival is not None:
            return await self._let_in(recruiter.name, arrival)
        session = await self.sessions.session(request)
        if session is None and not recruiter.walk_in:
            return self._refuse(recruiter.absent())
        new = session is None or session.stage == flow.CONSENT
        if new and await self.vacancy.is_full():
            return await self.pages.turn_away(session)
        returns = self.leaving.way_back(request, session and session.stage) is not None
        return self.pages.show(session, page=self._page(page), returns=returns)

    async def invited(self, token: str) -> Response:
        """The way in by a personal link."""
        site = self.site
        found = await read(site.store.invitation, hash_token(token))
        if found is None or found.study != site.study.name or found.revoked_at is not None:
            return site.render.message("entry_revoked_title", "entry_revoked", 404)
        return await self._let_in("invitation", Arrival(found.name))

    async def _let_in(self, kind: str, arrival: Arrival) -> Response:
        entered = await self.sessions.enter(kind, arrival)
        if entered is None:
            return self.site.render.message("entry_other_title", "entry_other_session", 409)
        response = home()
        self.sessions.give(response, entered[1])
        if self.site.recruiter.needs_arrival():
            self.sessions.give_return(response, arrival)
        return response

    def _refuse(self, refused: Refused) -> Response:
        return self.site.render.message("entry_title", refused.text, 400, **refused.values)

    def _page(self, text: str) -> int:
        """Which page of the instructions: what is no number is the first."""
        last = max(1, len(self.site.study.instructions))
        return min(int(text), last) if text in map(str, range(1, last + 1)) else 1
