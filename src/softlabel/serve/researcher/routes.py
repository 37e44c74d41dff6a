"""All addresses of the researcher's pages, and who may open them."""

from functools import partial

from fastapi import Depends
from fastapi.routing import APIRouter
from starlette.responses import HTMLResponse, Response

from softlabel.serve.researcher.actions import ActionPages
from softlabel.serve.researcher.answers import AnswerPages
from softlabel.serve.researcher.downloads import Downloads
from softlabel.serve.researcher.login import HOME, LOGIN, Login
from softlabel.serve.researcher.overview import LiveOverview
from softlabel.serve.researcher.pages import Pages
from softlabel.serve.running import Running
from softlabel.serve.site import Site, describe_form

TEXT = {"type": "string"}


def make_router(site: Site, running: Running) -> APIRouter:
    """Make all routes under ``/research``: login, what is to be seen, and what is to be done."""
    login, live = Login(site), LiveOverview(site.study, site.store, site.now)
    site.listen(live.adopt)
    site.render.share(run_state=lambda: running.read().state)
    downloads, pages = Downloads(site, live), Pages(site, live)
    answers, actions = AnswerPages(pages), ActionPages(site, running, login, live)
    token = describe_form(token=TEXT, name=TEXT)
    outside = APIRouter()
    add = partial(outside.add_api_route, response_class=Response)
    add(LOGIN, login.page, methods=["GET"])
    add(LOGIN, login.login, methods=["POST"], responses={303: {}, 401: {}, 429: {}}, **token)
    add(f"{HOME}/logout", login.logout, methods=["POST"])

    def refresh() -> None:
        """Notice what was done to the study elsewhere."""
        running.read()

    inside = APIRouter(
        prefix=HOME,
        dependencies=[Depends(login.require), Depends(refresh)],
        responses={303: {}},
        default_response_class=HTMLResponse,
    )
    get = partial(inside.add_api_route, methods=["GET"])
    get("/export", downloads.page)
    get("/export/{name}", downloads.send, response_class=Response, responses={404: {}})
    get("", pages.overview)
    get("/items", pages.items)
    get("/people", pages.people)
    get("/people/{annotator}", pages.person)
    get("/answers", answers.answers)
    get("/comments", answers.comments)
    get("/run", actions.page)
    get("/audit", actions.audit)
    post = partial(inside.add_api_route, methods=["POST"], responses={409: {}})
    names = ("confirm", "revision", "annotator", "reason", "number", "upload", "called")
    form = describe_form(**dict.fromkeys(names, TEXT))
    post("/run/add", actions.upload)
    post("/run/add-items", actions.add, **form)
    post("/run/{name}", actions.act, **form)
    outside.include_router(inside)
    return outside
