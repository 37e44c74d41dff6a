"""The ways out: withdrawing, and going back to where one came from."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from softlabel.serve import flow
from softlabel.serve.documented import form
from softlabel.serve.forms import read_form
from softlabel.serve.pages import Pages, home
from softlabel.serve.recruit.base import OUTCOMES, fill
from softlabel.serve.sessions import Sessions
from softlabel.serve.site import Site, written


class Leaving:
    """Handlers of ``/withdraw``, ``/left`` and ``/leave``."""

    def __init__(self, site: Site, sessions: Sessions, pages: Pages) -> None:
        self.site, self.sessions, self.pages = site, sessions, pages

    def add_to(self, app: FastAPI) -> None:
        add = partial(app.add_api_route, response_class=HTMLResponse)
        choice = form(keep={"type": "string", "enum": ["yes", "no"]})
        add("/withdraw", self.ask_withdraw, methods=["GET"])
        add("/withdraw", self.withdraw, methods=["POST"], **choice)
        add("/left", self.left, methods=["GET"])
        add("/leave", self.leave, methods=["GET"])

    async def ask_withdraw(self, request: Request) -> Response:
        """Ask what is to become of the answers."""
        session = await self.sessions.session(request)
        if session is None or session.stage not in flow.UNDER_WAY:
            return home()
        code = self.pages.delete_code(session)
        return self.site.render("withdraw.html", step=None, session=session, delete_code=code)

    async def withdraw(self, request: Request) -> Response:
        """Leave the study; the answers are kept or deleted."""
        fields = await read_form(request)
        async with self.sessions.turn(request) as session:
            if session is None or session.stage not in flow.UNDER_WAY:
                return home()
            if fields.get("keep") not in ("yes", "no"):
                return RedirectResponse("/withdraw", 303)
            forget = fields["keep"] == "no"
            await written(self.site.store.withdraw(session.id, forget, self.site.now()))
            self.sessions.forget(session.id)
            return RedirectResponse("/left", 303) if forget else home()

    async def left(self, request: Request) -> Response:
        """Good-bye to somebody of whom nothing is known any more."""
        returns = self.way_back(request, flow.WITHDRAWN) is not None
        return self.pages.show(None, stage=flow.WITHDRAWN, returns=returns)

    async def leave(self, request: Request) -> Response:
        """Go back to the recruiter, if the session has ended."""
        session = await self.sessions.session(request)
        gone = session is None and "left" in request.query_params
        stage = flow.WITHDRAWN if gone else session and session.stage
        address = self.way_back(request, stage)
        return home() if address is None else RedirectResponse(address, 302)

    def way_back(self, request: Request, stage: str | None) -> str | None:
        """The recruiter's address for those who end here, if we still know what to put into it."""
        outcome = OUTCOMES.get(stage or "")
        address = outcome and self.site.recruiter.address(outcome)
        return fill(address, self.sessions.arrival(request)) if address else None
