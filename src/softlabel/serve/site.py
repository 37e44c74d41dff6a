"""What the handlers of all pages share: the site, its clock, its renderer, and its forms."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jinja2
from fastapi import Request
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse

from softlabel.serve.recruit import Recruiter
from softlabel.serve.secret import Secret
from softlabel.serve.texts import Catalogue, load_all, speaking
from softlabel.store import Store
from softlabel.study import Study

MOST_FIELDS, LONGEST_FIELD = 200, 5000
Headers = Mapping[str, str] | None
Ticks = Callable[[], float]

# seconds that pass whatever is done to the time of day; while the machine sleeps as well, if known
elapsed: Ticks = time.monotonic
if hasattr(time, "CLOCK_BOOTTIME"):
    elapsed = partial(time.clock_gettime, time.CLOCK_BOOTTIME)


class Clock:
    """Seconds since 1970: the time of day at the start plus what has passed since then.

    Leases depend on it, so it never goes back, even if somebody corrects the machine's time while
    people are at work or between two runs.  ``newest`` is the latest time in the database, and the
    clock does not start before it; ``behind`` is by how many seconds the time of day was.
    """

    def __init__(
        self, newest: float | None = None, *, wall: Ticks = time.time, ticks: Ticks = elapsed
    ) -> None:
        start = wall()
        self.behind = max(0.0, (newest or 0.0) - start)
        self._ticks, self._zero = ticks, start + self.behind - ticks()

    def __call__(self) -> float:
        return self._zero + self._ticks()


class Renderer:
    """Fill templates in the language of the request: the ``shared`` values are known to all, all
    values are escaped, and a missing one is an error."""

    def __init__(self, study: Study, **shared: Any) -> None:
        self.study, self.catalogues = study, load_all(study)
        names = {code: words.name for code, words in self.catalogues.items()}
        self._shared = shared | {"languages": names}

    @property
    def texts(self) -> Catalogue:
        """The words in the language of this request."""
        return self.catalogues.get(speaking.get() or "", self.catalogues[self.study.language])

    def share(self, **values: Any) -> None:
        """Make values known to all templates."""
        self._shared |= values

    def adopt(self, study: Study) -> None:
        """Fill templates with another version of the study from now on."""
        self.study, self.catalogues = study, load_all(study)

    def __call__(
        self, template: str, status: int = 200, headers: Headers = None, **values: Any
    ) -> HTMLResponse:
        texts = self.texts
        words = {"lang": texts.code, "dir": texts.dir, "t": texts.page, "say": texts.say}
        words["study"] = self.study.speak(texts.code)
        text = load_template(template).render(self._shared | words | values)
        return HTMLResponse(text, status_code=status, headers=dict(headers or {}))

    def message(
        self, title: str, text: str, status: int = 200, headers: Headers = None, **values: object
    ) -> HTMLResponse:
        """Render a page with one message; ``title`` and ``text`` are keys of the catalogue."""
        texts = self.texts
        filled = texts.say(text, **values)
        return self("message.html", status, headers, title=texts.page[title], text=filled)

    def error(self, status: int, headers: Headers = None) -> HTMLResponse:
        """Render the page of an HTTP error."""
        text = f"error_{status}"
        if text not in self.texts.page:
            text = "error_500" if status >= 500 else "error_400"
        return self.message("error_title", text, status, headers)


@dataclass(eq=False)
class Site:
    """The study, its store, and the texts and secrets of its pages; one per app.

    Handlers call the store's reading methods in a thread (``asyncio.to_thread``), so that nobody
    else waits for them, and await its writes, which end once they are on the disk.

    The study is replaced while people take part when items are added or its quota is changed;
    what depends on it and is made only once is told through ``listen``.
    """

    study: Study
    store: Store
    secret: Secret
    render: Renderer
    recruiter: Recruiter
    now: Ticks
    secure: bool  # served over https
    _listeners: list[Callable[[Study], None]] = field(default_factory=list)

    def listen(self, *adopt: Callable[[Study], None]) -> None:
        """Call these with every new version of the study."""
        self._listeners += adopt

    def adopt(self, study: Study) -> None:
        """Go on with another version of the study: other items, or another quota."""
        self.study = study
        for adopt in self._listeners:
            adopt(study)


@lru_cache(maxsize=256)  # a study has a few texts, and everybody reads them
def render_markdown(text: str) -> Markup:
    """Turn Markdown into safe HTML: no raw HTML, no pictures, plain links only, and headings from
    the second level on, since the page has its own first one."""
    tokens = _markdown.parse(text)
    headings = [token for token in tokens if token.type in ("heading_open", "heading_close")]
    top = min((int(token.tag[1]) for token in headings), default=2)
    for token in headings:
        token.tag = f"h{min(6, int(token.tag[1]) + 2 - top)}"
    return Markup(_markdown.renderer.render(tokens, _markdown.options, {}))


def _is_plain_link(address: str) -> bool:
    try:
        return urlsplit(address).scheme.lower() in {"http", "https", "mailto"}
    except ValueError:
        return False


def _open_link(
    renderer: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType
) -> str:
    """Open links in a new tab, beside the study, and send no referrer."""
    if not _is_plain_link(str(tokens[place].attrGet("href") or "")):
        return "<a>"  # the library takes an empty address for a link
    tokens[place].attrSet("rel", "noopener noreferrer")
    tokens[place].attrSet("target", "_blank")
    return renderer.renderToken(tokens, place, options, env)


# one for all applications of a process, so that a template is compiled once
_templates = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    auto_reload=False,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters["markdown"] = render_markdown


def load_template(name: str) -> jinja2.Template:
    """Return a template of the pages; it escapes all values, and a missing one is an error."""
    return _templates.get_template(name)


_markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
# the library's own rule also accepts relative addresses and data: pictures
_markdown.validateLink = _is_plain_link  # type: ignore[method-assign,assignment]
_markdown.add_render_rule("link_open", _open_link)


async def read_form(request: Request) -> Mapping[str, str]:
    """Return the fields of a form, each once; refuse what is not a form."""
    try:
        text = (await request.body()).decode()
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as wrong:  # not UTF-8, or far too many fields
        raise HTTPException(400) from wrong
    fields = dict(pairs)
    if any("\0" in value or len(value) > LONGEST_FIELD for value in fields.values()):
        raise HTTPException(400)
    return fields


def describe_form(**fields: dict[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI description of a form with these fields."""
    schema = {"type": "object", "properties": fields}
    content = {"application/x-www-form-urlencoded": {"schema": schema}}
    return {"openapi_extra": {"requestBody": {"required": True, "content": content}}}
