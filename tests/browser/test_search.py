"""search: finding among many, branches, and the limits of what is possible."""

from __future__ import annotations

import json

MANY = [f"kind {n // 100}/some sort of {n % 100:02d}-{n}" for n in range(10_000)]


def test_branches_parents_and_scope(served, person, answers):
    running = served(mode="search", items=2)
    somebody = person(running.url).start()
    page = somebody.page
    somebody.press("f", "o", "x")
    assert page.locator("#search-box").get_attribute("aria-activedescendant") == "found-0"
    somebody.press("Control+ArrowUp")  # the branch above the option that is pointed at
    assert page.locator(".pick .name bdi").all_inner_texts() == ["wild"]
    somebody.press("h", "e", "n", "Enter", "PageUp", "+", "Control+1")
    assert page.locator(".pick.selected .name bdi").inner_text() == "wild"
    somebody.press("Control+2", "Control+ArrowUp")  # hen -> farm
    page.get_by_role("button", name="farm", exact=True).click()
    somebody.press("Alt+x")
    assert somebody.problem == "wild lies outside of what you left possible."
    page.get_by_role("button", name="wild", exact=True).click()
    somebody.press("Alt+z")
    assert "everything else is ruled out" in somebody.problem
    somebody.answer("Alt+x").saved()
    assert answers(running)[0] == {
        "n": 20,
        "picks": [
            {"node": "wild", "chips": 4, "stop": True},
            {"node": "farm", "chips": 16, "stop": True},
        ],
        "scope": ["farm", "wild"],
        "rest": "ruled_out",
        "queries": ["fox", "hen"],
    }


def test_ten_thousand_labels_are_looked_up_on_the_server(served, person, answers):
    running = served(mode="search", items=2, labels=MANY)
    somebody = person(running.url).start()
    page = somebody.page
    plan = somebody.context.request.get(f"{running.url}/api/plan").json()
    assert plan["labels_from"] == "/api/labels"
    page.keyboard.type("some")
    page.wait_for_selector("#found [role=option][data-name]")
    assert page.locator("#found [role=option]").count() == 50
    page.keyboard.type(" sort of 42-4242")
    somebody.press("Enter")  # faster than the list: it is meant for what was typed
    page.wait_for_selector(".pick")
    somebody.answer("Alt+x").saved()
    assert answers(running)[0]["picks"] == [{"node": "kind 42/some sort of 42-4242", "chips": 20}]
    shelf = page.locator(".shelf button")
    assert shelf.all_inner_texts() == [
        "some sort of 42-4242"
    ]  # offered again, never chosen by itself


def test_nine_thousand_labels_are_looked_up_in_the_page_at_once(served, person):
    labels = [name.replace("some sort of", "sort") for name in MANY[:9_000]]
    somebody = person(served(mode="search", items=2, labels=labels).url).start()
    page = somebody.page
    page.keyboard.type("sort 42-4242")
    page.wait_for_selector("#found [data-name='kind 42/sort 42-4242']")
    took = page.evaluate(LOOK_UP)
    assert sorted(took)[len(took) // 2] < 50  # milliseconds


LOOK_UP = """async () => {
  const { find } = await import("/static/modes/matching.js");
  const plan = await (await fetch("/api/plan")).json();
  const context = { labels: plan.labels, synonyms: plan.synonyms, rules: plan.mode.rules };
  const took = [];
  for (const typed of ["s", "so", "sort", "sort 4", "sort 42", "kind 8", "zz"]) {
    const begin = performance.now();
    await find(context, typed);
    took.push(performance.now() - begin);
  }
  return took;
}"""


def test_synonyms_are_found_and_undo_works_in_the_empty_box(served, person):
    more = 'synonyms = { "pet/cat" = ["kitten"] }'
    running = served(mode="search", items=2, language=f'en"\n{more}\n#"')
    somebody = person(running.url).start()
    page = somebody.page
    page.keyboard.type("kitt")
    page.wait_for_selector("#found [data-name='pet/cat']")
    somebody.press("Enter")
    assert page.locator(".pick .share").inner_text() == "20 of 20"
    somebody.press("Enter")
    assert somebody.problem.startswith("Say what you think of all the others")
    somebody.press("Backspace")
    assert page.locator(".pick").count() == 0
    page.keyboard.type("zzz")
    assert page.locator("#found").inner_text() == "Nothing found."
    somebody.press("Escape")
    assert page.locator("#found").is_hidden()


def test_local_and_remote_lists_agree(served, person):
    """The page's own index and the server's find the same label first."""
    somebody = person(served(mode="search", items=2).url).start()
    for typed in ("ca", "do", "wild", "ow", "farm", "il ox", "wlid", "frm cow", "ildf", "petx d"):
        found = somebody.page.evaluate(BOTH, typed)
        assert json.dumps(found["here"]) == json.dumps(found["there"]), typed


BOTH = """async (typed) => {
  const { find } = await import("/static/modes/matching.js");
  const plan = await (await fetch("/api/plan")).json();
  const common = { labels: plan.labels, synonyms: plan.synonyms, rules: plan.mode.rules };
  const here = await find(common, typed);
  const there = await find({ ...common, labelsFrom: "/api/labels" }, typed);
  return { here: here[0]?.name ?? null, there: there[0]?.name ?? null };
}"""


def test_slips_are_found_in_the_page_as_on_the_server(served, person):
    """Every string at one slip from a word of the labels, and some at two."""
    somebody = person(served(mode="search", items=2).url).start()
    found = somebody.page.evaluate(
        """async () => {
          const { slips } = await import("/static/modes/matching.js");
          const [word, letters] = ["heron", "hx"];
          const one = [];
          for (let i = 0; i <= word.length; i += 1) {
            const [a, b] = [word.slice(0, i), word.slice(i)];
            one.push(a + b.slice(1));
            if (b.length > 1) one.push(a + b[1] + b[0] + b.slice(2));
            for (const c of letters) one.push(a + c + b.slice(1), a + c + b);
          }
          const near = one.filter((typed) => slips(typed, "heron"));
          const far = ["hxrxn", "ehorn", "xxheron", "norehe"];
          return [near.length === one.length, far.filter((typed) => slips(typed, "heron"))];
        }"""
    )
    assert found == [True, []]


def test_picks_share_the_chips_equally_until_one_is_set(served, person, answers):
    running = served(mode="search", items=3, more="# equal")
    somebody = person(running.url).start()
    page = somebody.page

    def chips():
        return [int(text) for text in page.locator(".pick button.count").all_text_contents()]

    for name, shares in (("fox", [20]), ("hen", [10, 10]), ("cow", [7, 7, 6])):
        somebody.press(*name, "Enter")
        assert chips() == shares
    assert page.locator(".pick .mark").all_inner_texts() == ["equal shares"] * 3
    somebody.answer("Alt+x").saved()
    assert answers(running)[0]["even"] is True
    for name in ("fox", "hen"):
        somebody.press(*name, "Enter")
    page.locator(".pick").nth(1).locator("button.count").click()  # one number
    page.keyboard.type("3")
    somebody.press("Enter")
    assert chips() == [17, 3]
    somebody.press("ArrowRight", "PageUp")  # the bar has the focus now
    assert chips() == [11, 9]
    bar = page.locator(".pick .track").nth(0)
    box = bar.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 14.5 / 20, box["y"] + box["height"] / 2)
    assert chips() == [15, 5]
    page.locator("#search-box").focus()
    somebody.press(*"cow", "Enter")
    assert chips() == [10, 5, 5], "as many as the least has, from the first"
    page.locator(".pick .out").nth(2).click()
    assert chips() == [15, 5]
    page.locator(".pick .track").nth(1).focus()
    somebody.press("Home", "ArrowLeft")
    assert somebody.problem == "Give farm/hen at least one chip, or remove it."
    somebody.press("End", "ArrowRight")
    assert (chips(), somebody.problem) == ([1, 19], "No chips are left to give.")
    assert bar.get_attribute("aria-valuetext") == "fox, 1 of 20"
    page.locator("#search-box").focus()
    somebody.answer("Alt+x").saved()
    assert "even" not in answers(running)[1]
    picks = [(one["node"], one["chips"]) for one in answers(running)[1]["picks"]]
    assert picks == [("wild/fox", 1), ("farm/hen", 19)]


def test_the_tree_is_browsed_by_keys(served, person, answers, check):
    running = served(mode="search", items=3, more="# tree")
    somebody = person(running.url).start()
    page = somebody.page

    def pointed():
        return page.evaluate("document.activeElement.dataset.name ?? null")

    somebody.press("ArrowDown")
    page.wait_for_selector("[role=tree] [role=treeitem]:focus")
    assert pointed() == "pet"
    steps = ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowUp", "ArrowLeft", "w")
    seen = []
    for step in steps:
        somebody.press(step)
        seen.append(pointed())
    assert seen == ["pet", "pet/cat", "pet/dog", "wild", "pet/dog", "pet", "wild"]
    somebody.press("Enter", "End", "ArrowRight")
    page.wait_for_selector("[data-name='farm'] [data-name='farm/cow']")
    somebody.press("End", "Space")
    assert pointed() == "farm/cow", "the focus stays where it was"
    assert page.locator(".pick .name bdi").all_inner_texts() == ["wild", "cow"]
    check(page)
    somebody.press("Escape")
    assert page.evaluate("document.activeElement.id") == "search-box"
    somebody.answer("Alt+x").saved()
    assert answers(running)[0]["picks"] == [
        {"node": "wild", "chips": 10, "stop": True},
        {"node": "farm/cow", "chips": 10},
    ]
    assert page.locator("[data-name='farm/cow']").is_visible(), "it stays as it was left"


def test_the_tree_is_browsed_by_clicks_and_from_the_server(served, person, answers):
    running = served(mode="search", items=2, labels=MANY)
    somebody = person(running.url).start()
    page = somebody.page
    page.get_by_role("button", name="Browse all labels").click()
    branch = page.locator("[role=treeitem][data-name='kind 42']")
    branch.locator("> .node .name").click()
    page.locator("[data-name='kind 42/some sort of 07-4207']").click()
    branch.locator("> .node .whole").click()
    page.locator(".pick").nth(1).wait_for()
    assert page.locator(".pick .mark").all_inner_texts()[1].startswith("somewhere in here")
    page.locator("#search-box").focus()
    somebody.answer("Alt+x").saved()
    nodes = [(one["node"], one.get("stop")) for one in answers(running)[-1]["picks"]]
    assert nodes == [("kind 42/some sort of 07-4207", None), ("kind 42", True)]


def test_labels_without_branches_have_no_tree(served, person):
    labels = ["cat", "dog", "fox"]
    somebody = person(served(mode="search", items=2, labels=labels).url).start()
    assert somebody.page.locator(".browse, .tree").count() == 0
