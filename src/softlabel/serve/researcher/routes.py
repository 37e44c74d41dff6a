"""All addresses of the researcher's pages, and who may open them."""

from functools import partial

from fastapi import Depends, FastAPI
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


def add_routes(app: FastAPI, site: Site, running: Running) -> None:
    """Add all routes under ``/research``: login, what is to be seen, and what is to be done."""
    login, live = Login(site), LiveOverview(site.study, site.store, site.now)
    site.listen(live.adopt)
    site.render.share(run_state=lambda: running.read().state)
    downloads, pages = Downloads(site, live), Pages(site, live)
    answers, actions = AnswerPages(pages), ActionPages(site, running, login, live)
    token = describe_form(token=TEXT, name=TEXT)
    add = partial(app.add_api_route, response_class=Response)
    add(LOGIN, login.page, methods=["GET"])
    add(LOGIN, login.login, methods=["POST"], responses={303: {}, 401: {}, 429: {}}, **token)
    add(f"{HOME}/logout", login.logout, methods=["POST"])

    def refresh() -> None:
        """Notice what was done to the study elsewhere."""
        running.read()

    guards = [Depends(login.require), Depends(refresh)]
    inside = partial(app.add_api_route, dependencies=guards, response_class=HTMLResponse)
    get = partial(inside, methods=["GET"], responses={303: {}})
    get(f"{HOME}/export", downloads.page)
    a_file = {"response_class": Response, "responses": {303: {}, 404: {}}}
    get(f"{HOME}/export/{{name}}", downloads.send, **a_file)
    get(HOME, pages.overview)
    get(f"{HOME}/items", pages.items)
    get(f"{HOME}/people", pages.people)
    get(f"{HOME}/people/{{annotator}}", pages.person)
    get(f"{HOME}/answers", answers.answers)
    get(f"{HOME}/comments", answers.comments)
    get(f"{HOME}/run", actions.page)
    get(f"{HOME}/audit", actions.audit)
    post = partial(inside, methods=["POST"], responses={303: {}, 409: {}})
    names = ("confirm", "revision", "annotator", "reason", "number", "upload", "called")
    form = describe_form(**dict.fromkeys(names, TEXT))
    post(f"{HOME}/run/add", actions.upload)
    post(f"{HOME}/run/add-items", actions.add, **form)
    post(f"{HOME}/run/{{name}}", actions.act, **form)
