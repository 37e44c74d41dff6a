"""From template to page, with the words of the study's language."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from starlette.responses import HTMLResponse

from softlabel.serve import flow, markdown
from softlabel.serve.recruit import Platform
from softlabel.serve.static import list_preloads
from softlabel.serve.texts import Catalogue
from softlabel.study import Study

FOLDER = Path(__file__).parent / "templates"


class Renderer:
    """Fills templates; everything that goes into one is escaped, and nothing may be missing."""

    def __init__(self, study: Study, texts: Catalogue, platform: Platform | None = None) -> None:
        self.study, self.texts = study, texts
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(FOLDER),
            autoescape=True,
            auto_reload=False,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters["markdown"] = markdown.render
        self._templates.globals |= {
            "study": study,
            "lang": texts.code,
            "dir": texts.dir,
            "t": texts.page,
            "say": texts.say,
            "steps": flow.steps(study),
            "platform": platform,
            "leaving": flow.UNDER_WAY - {flow.CONSENT},
            "preloads": list_preloads(study.mode),
        }

    def __call__(
        self,
        template: str,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        **values: Any,
    ) -> HTMLResponse:
        text = self._templates.get_template(template).render(values)
        return HTMLResponse(text, status_code=status, headers=dict(headers or {}))

    def message(self, title: str, text: str, status: int = 200, **values: object) -> HTMLResponse:
        """A page that only says something; ``title`` and ``text`` are keys of the catalogue."""
        said = self.texts.say(text, **values)
        return self("message.html", status, title=self.texts.page[title], text=said)

    def error(self, status: int, headers: Mapping[str, str] | None = None) -> HTMLResponse:
        """The page of an HTTP error."""
        page = self.texts.page
        text = page.get(f"error_{status}", page["error_500" if status >= 500 else "error_400"])
        return self("message.html", status, headers, title=page["error_title"], text=text)
