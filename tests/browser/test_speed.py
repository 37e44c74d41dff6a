"""What the page promises about time and weight."""

from __future__ import annotations

import gzip
import statistics

import pytest

ITEMS = 21


def test_the_next_item_is_painted_within_100_ms(served, person):
    """From the key that sends the answer, through the disk, to the frame that shows the picture."""
    somebody = person(served(mode="quick", items=ITEMS, more="# speed").url).start()
    for _ in range(ITEMS - 1):
        somebody.answer("3", "t")
    somebody.page.wait_for_selector("#task[data-ready]")
    took = somebody.page.evaluate(
        "() => performance.getEntriesByName('softlabel:next').map((one) => one.duration)"
    )
    assert len(took) == ITEMS - 1
    assert statistics.median(took) < 100, sorted(took)  # tests share the machine with others


# the files that were asked for before the first item was to be seen, and all of them
FILES = """() => {
  const [{ startTime: shown }] = performance.getEntriesByName("softlabel:first");
  const files = performance.getEntriesByType("resource")
    .filter(({ name }) => name.includes("/static/"));
  return [files.filter((one) => one.startTime < shown), files]
    .map((some) => some.map(({ name }) => name));
}"""


@pytest.mark.parametrize("mode", ["search", "chips", "quick"])
def test_what_a_participant_downloads_is_small(served, person, mode):
    """Everything the first item needs, as it is sent: under 40 kB, also in the heaviest mode."""
    somebody = person(served(mode=mode, items=3).url).start()
    first, files = somebody.page.evaluate(FILES)
    replies = {url: somebody.context.request.get(url) for url in files}
    assert all(one.headers.get("content-encoding") == "gzip" for one in replies.values())
    sizes = {url: len(gzip.compress(one.body(), mtime=0)) for url, one in replies.items()}
    assert 20_000 < sum(sizes[url] for url in first) < 40_000
    assert sum(sizes.values()) < 60_000, "what comes after it"
