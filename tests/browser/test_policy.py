"""What a page may not do, even if somebody got a word into it: the browser itself refuses."""

from __future__ import annotations

import pytest

FORBIDDEN = {
    "text as HTML": "document.body.innerHTML = '<b>x</b>'",
    "HTML at a place": "document.body.insertAdjacentHTML('beforeend', '<b>x</b>')",
    "a script's text": "document.createElement('script').text = 'window.ran = true'",
    "a script's address": "document.createElement('script').src = 'data:text/javascript,1'",
    "text as program": "eval('window.ran = true')",
    "text as function": "new Function('window.ran = true')()",
    "a policy that lets it": "trustedTypes.createPolicy('mine', {createHTML: (text) => text})",
}
# in a turn of its own: what a debugger asks for directly may evaluate strings
TRY = """() => new Promise((resolve) => setTimeout(async () => {{
  try {{ {}; resolve("done"); }} catch (error) {{ resolve(error.name); }}
}}))"""


@pytest.fixture
def page(served, person):
    somebody = person(served(mode="hard", items=3, practice=True).url).start()
    yield somebody.page
    assert somebody.errors, "the browser says what it refused"
    somebody.errors.clear()


@pytest.mark.parametrize("what", FORBIDDEN)
def test_nothing_turns_text_into_page_or_program(page, what):
    assert page.evaluate(TRY.format(FORBIDDEN[what])) in ("TypeError", "EvalError")
    assert page.evaluate("() => window.ran === undefined")


def test_no_script_in_the_page_itself_is_run(page):
    """As a template would write it, had it forgotten to escape something."""
    body = page.context.request.get(page.url).text()
    evil = body.replace("</body>", "<script>window.ran = true</script></body>")
    assert evil != body

    def put_in(route):
        found = route.fetch()
        route.fulfill(response=found, body=evil)

    page.route(page.url, put_in)
    page.reload()
    page.wait_for_selector("#task[data-position]")
    assert page.evaluate("() => window.ran === undefined")


def test_nothing_is_fetched_from_elsewhere(page):
    assert page.evaluate(TRY.format("await fetch('https://example.org/')")) == "TypeError"
    assert page.evaluate(TRY.format("await fetch('/health')")) == "done"
