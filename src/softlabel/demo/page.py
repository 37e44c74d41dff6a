"""The demo's page: the words around the numbers."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from softlabel import __version__
from softlabel.demo import charts, lessons
from softlabel.demo.findings import KL_FLOOR, REDRAWS, RICH, VOTES, Findings
from softlabel.demo.learning import Learning
from softlabel.demo.study import CARELESS, ITEMS, PEOPLE, PER_ITEM, RECIPES, REPEATS
from softlabel.metrics import Cost, entropy, total_variation
from softlabel.report import (
    Html,
    Section,
    captioned,
    command,
    el,
    figure,
    flowing,
    interval,
    join,
    listing,
    number,
    page,
    table,
)
from softlabel.study import shapes
from softlabel.tables import Floats, Score

EXAMPLES, STRIP = 8, 12  # pictures shown with their labels, and in the row at the top
SECONDS_RICH, SECONDS_VOTE = (Cost().answer(label) for label in ("t2-clamp", "hard"))
TITLE = "What a vote leaves out"
ASKED = {"rich": "rich answers", "votes": "votes"}
COMMANDS = (
    "softlabel label answers.jsonl mine.npz --construct clamp --aggregate mean --repeats first",
    "softlabel label votes.csv shares.csv --aggregate share",
)


def render(found: Findings, learning: Learning | None = None) -> str:
    """The whole document; without what was learned, it says how to train."""
    trained = lessons.section(learning, found.seed) if learning else lessons.untrained()
    sections = [
        examples(found),
        doubt(found),
        recipes(found),
        how_many(found),
        agreement(found),
        careless(found),
        trained,
        limits(found),
        making(found, learning),
    ]
    foot = f"Made by softlabel {__version__}, seed {found.seed}."
    return page(TITLE, lead(found), sections, foot)


# ── saying numbers ───────────────────────────────────────────────────────────────────────────


def percent(score: Score) -> str:
    """12.3 % (11.0 to 13.6)."""
    return f"{points(score.value)}\u00a0% ({points(score.low)} to {points(score.high)})"


def points(value: float) -> str:
    """A share in percentage points."""
    return number(100 * value, 1)


def compared(score: Score) -> str:
    """A difference in words, with its interval; says so when it cannot be told from none."""
    if score.low <= 0 <= score.high:
        ends = f"{points(score.low)} to {points(score.high)} points"
        return f"a difference that cannot be told from none ({ends})"
    low, high = sorted((abs(score.low), abs(score.high)))
    word = "more" if score.value > 0 else "less"
    return f"{points(abs(score.value))} points {word} ({points(low)} to {points(high)})"


# ── sections ─────────────────────────────────────────────────────────────────────────────────


def lead(found: Findings) -> list[str]:
    rich, votes = found.pooled[RICH], found.pooled[VOTES]
    order = np.argsort(entropy(found.study.truth), kind="stable")
    shown = order[np.linspace(0, len(order) - 1, STRIP).round().astype(int)]
    result = el(
        "p",
        f"With {PER_ITEM} people per picture, labels made of rich answers put ",
        el("strong", percent(rich.tv)),
        " of the probability on the wrong shapes. Counted votes of the same people put ",
        el("strong", percent(votes.tv)),
        f" there: {compared(found.difference)}.",
        class_="result",
    )
    note = el(
        "p",
        "Brackets hold 95 % intervals: what other pictures drawn in the same way might give. ",
        "Everything here is simulated. The page shows what the tools do, and that they find what ",
        "was put in; it is ",
        el("a", "no evidence about real people", href="#what-this-does-not-show"),
        ".",
        class_="note",
    )
    return [
        charts.strip(found, shown.tolist()),
        f"""Some of these pictures show one shape, others something between two or three. {PEOPLE}
        people said what they see in {ITEMS} such pictures, in two ways: with one click (a vote),
        and on a short form that also asks how sure they are (a rich answer). Pictures and people
        are made up by a program, so the right answer is known: not one shape, but how likely each
        shape is. Every label can be held against it. The form was filled in over HTTP, in a study
        that softlabel served; the votes took no server.""",
        result,
        note,
    ]


def examples(found: Findings) -> Section:
    errors = [total_variation(found.study.truth, one.labels.probs) for one in found.pooled]
    chosen = typical(found.study.truth, errors[VOTES] - errors[RICH], EXAMPLES)
    names = (el("li", charts.icon(i), name) for i, name in enumerate(shapes.LABELS))
    rich, votes = (points(found.pooled[place].tv.value) for place in (RICH, VOTES))
    return Section(
        "From clear to ambiguous",
        [
            f"""One picture from each eighth of all {ITEMS}, the clearest first: the one in which
            the difference between votes and rich answers is nearest to the middle of its eighth
            (and the main shape has not come up yet). A bar is a label: how much chance it gives to
            each shape. The more the second and third bar look like the first, the better. Votes
            come in steps of one tenth, because {PER_ITEM} people voted. Over all pictures rich
            answers are off by {rich} %, votes by {votes} %.""",
            el("ul", *names, class_="keys"),
            el("div", *(charts.example(found, item) for item in chosen), class_="grid"),
        ],
    )


def typical(truth: Floats, gain: Floats, count: int) -> list[int]:
    """Items from clear to ambiguous, one from each of ``count`` equal parts: that with the gain
    nearest to its part's median, of a class not chosen before as long as there is one."""
    chosen: list[int] = []
    for part in np.array_split(np.argsort(entropy(truth), kind="stable"), count):
        tops = truth[part].argmax(axis=1)
        used = Counter(truth[chosen].argmax(axis=1).tolist())
        times = np.array([used[top] for top in tops.tolist()])
        odd = abs(gain[part] - np.median(gain[part])).round(9)  # rounding must not decide ties
        chosen.append(int(part[np.lexsort((odd, times))[0]]))
    return chosen


def doubt(found: Findings) -> Section:
    top = number(math.log(len(shapes.LABELS)))
    return Section(
        "Is doubt kept where it belongs?",
        [
            f"""Entropy measures the doubt in a label: 0 when one shape takes all, {top} when all
            six are equally likely. One mark is one picture. On the dashed line a label is exactly
            as doubtful as the truth. The correlation r says whether the doubtful labels are those
            of the doubtful pictures: 1 would be perfect.""",
            captioned(
                el("div", *charts.entropies(found), class_="pair"),
                """Marks above the line doubt more than they should: people differ by mistake as
                well as by doubt, and an average cannot tell the two apart.""",
            ),
        ],
    )


def recipes(found: Findings) -> Section:
    order = sorted(found.pooled, key=lambda one: one.tv.value)
    best = f"{order[0].recipe.steps}, from {ASKED[order[0].recipe.arm]}"
    rows = [
        (
            one.recipe.name,
            interval(one.tv),
            interval(one.kl),
            interval(one.entropy_r, 2),
            el("span", one.recipe.words, class_="words"),
        )
        for one in order
    ]
    return Section(
        "Which recipe comes closest?",
        [
            f"""A recipe says which answers are used, how one answer becomes a label (before the
            arrow), and how {PER_ITEM} labels become one (after it). The error is the total
            variation: the share of the probability that lies on the wrong shapes. Best here:
            {best}.""",
            figure(
                lambda width: charts.recipes(order, width),
                """Dots are means over all pictures, lines their 95 % intervals. All recipes see
                the same people and pictures, so differences between them are surer than the
                overlap of the lines suggests.""",
            ),
            f"""Two more measures stand in the table. KL (Kullback-Leibler divergence, in nats)
            punishes a label for giving almost no chance to a likely shape; chances under
            {KL_FLOOR:g} count as {KL_FLOOR:g}. r is the correlation of entropies from above; a
            majority label never doubts, so it has none.""",
            table(
                "Error of each recipe, best first; small numbers are 95 % intervals",
                ["recipe", "total variation", "KL", "r", "in words"],
                rows,
            ),
        ],
    )


def how_many(found: Findings) -> Section:
    return Section(
        "How many people does it take?",
        [
            f"""Each point is the mean error over {REDRAWS} random choices of that many people per
            picture; rich answers are pooled by {RECIPES[RICH].steps}, votes by their shares.""",
            figure(
                lambda width: charts.curves(found, width),
                f"""Bands are 95 % intervals over pictures. The form was shown to {PER_ITEM} people
                per picture, the vote to all {PEOPLE}.""",
            ),
            worth(found.worth),
        ],
    )


def worth(votes: Score) -> str:
    """What a rich answer is worth in votes, and whether it is worth the seconds."""
    if not math.isfinite(votes.value):
        return f"All {PEOPLE} votes together do not come as close as one rich answer here."
    price = SECONDS_RICH / SECONDS_VOTE
    high = number(votes.high, 0) if math.isfinite(votes.high) else f"more than {PEOPLE}"
    saves = "people, not time" if votes.value < price else "people and time"
    said = f"""Among these people one rich answer comes as close as about {number(votes.value, 0)}
        votes ({number(votes.low, 0)} to {high}). In published studies such a form took about
        {SECONDS_RICH:g} s (Collins et al. 2022) and a vote {SECONDS_VOTE} s (Peterson et al. 2019):
        the time of {number(price, 0)} votes. By these numbers the form saves {saves}."""
    return flowing(said)


def agreement(found: Findings) -> Section:
    rows = [
        (ASKED[arm], interval(one.observed, 2), interval(one.alpha, 2))
        for arm, one in found.agreement.items()
    ]
    return Section(
        "Do people agree?",
        [
            """Observed agreement is the chance that two people, asked about one picture, mean the
            same shape. Krippendorff’s alpha compares labels and takes off what chance would give:
            1 is perfect agreement, 0 is chance. People who all say “half circle, half square”
            agree perfectly in their labels, while their votes look like a quarrel. Alpha of rich
            answers can tell shared doubt from disagreement; alpha of votes cannot.""",
            table(
                f"The same {PER_ITEM} people per picture, asked in two ways",
                ["asked by", "observed agreement", "alpha"],
                rows,
            ),
            figure(
                lambda width: charts.agreement(found, width),
                "Observed agreement of rich answers, picture by picture.",
            ),
        ],
    )


def careless(found: Findings) -> Section:
    crowd, gain = found.crowd, found.crowd.cleaned
    looking = found.study.looking
    caught, wrong = int((crowd.suspect & ~looking).sum()), int((crowd.suspect & looking).sum())
    others = f"and {wrong} more who did look: low agreement has other causes too"
    return Section(
        "Who was not looking?",
        [
            f"""{CARELESS} of the {PEOPLE} people were made to answer most pages without looking.
            The answers alone mark {caught} of them, {others if wrong else "and nobody else"}.
            Leaving out whoever is marked changes the error of rich answers
            ({RECIPES[RICH].steps}) by {points(gain.value)} points ({points(gain.low)} to
            {points(gain.high)}). Everywhere else on this page nobody was left out.""",
            figure(
                lambda width: charts.careless(found, width),
                """A person is marked when their agreement with the others lies more than three
                robust standard deviations below the middle person’s.""",
            ),
            f"""The report cards put side by side what was found in the answers and what was put
            in. Found: agreement (1 minus the total variation between a person’s label and the mean
            of the others; the tick is the middle person), doubt (mean entropy of their labels),
            change (total variation between first and second answer to {REPEATS} pictures shown
            twice). Put in: careless (share of answers given without looking), sharp (above 1 they
            sound too sure), noise (size of the error in the log of each chance).""",
            cards(found),
        ],
    )


def cards(found: Findings) -> Html:
    """One row per person, the least agreeing first."""
    crowd, persons = found.crowd, found.study.persons
    close = [card.agreement for card in crowd.cards]
    rows = []
    for a in np.argsort(close, kind="stable").tolist():
        card, person = crowd.cards[a], persons[a]
        remarks = [el("span", "low agreement", class_="flag")] if crowd.suspect[a] else []
        remarks += [el("span", remark, class_="remark") for remark in crowd.remarks[a]]
        rows.append(
            (
                card.annotator,
                charts.spark(card.agreement, 0.3, 1.0, "agreement", float(np.median(close))),
                charts.spark(card.entropy, 0, 1.5, "doubt"),
                charts.spark(float(crowd.repeat_distance[a]), 0, 1, "change"),
                join(*remarks) or "–",
                person.carelessness,
                person.sharpness,
                person.noise,
            )
        )
    columns = ["person", "agreement", "doubt", "change", "marks", "careless", "sharp", "noise"]
    caption = "Report cards, lowest agreement first; the last three columns were put in"
    return table(caption, columns, rows)


# Published answers of real people, measured in tests/reference/test_real_people.py.
REAL = {
    "agreement": 0.75,
    "change": 0.12,
    "rich kl": 0.19,
    "hard kl": 0.35,
    "rich tv": 0.16,
    "hard tv": 0.15,
}


def limits(found: Findings) -> Section:
    crowd, looking = found.crowd, found.study.looking
    close = number(float(np.array([card.agreement for card in crowd.cards])[looking].mean()))
    change = number(float(crowd.repeat_distance[looking].mean()))
    return Section(
        "What this does not show",
        [
            f"""“Truth” is a definition here. A picture blends shapes with known weights; its true
            distribution is those weights to the power {shapes.SHARPNESS:g}, scaled to sum to one,
            with {100 * shapes.LAPSE:g} % shared by all shapes. Nobody has measured how real people
            see these pictures.""",
            f"""The simulated people know their doubt: each believes the truth with errors in it
            and writes that down in steps of 5 %. When they vote they draw from their belief, which
            is kind to votes: the shares of very many would equal the mean of what people believe.
            With the errors they were given, those who look agree with the others ({close}) and
            change between two answers ({change}) about as much as people did in CIFAR-10S
            ({REAL["agreement"]:g} and {REAL["change"]:g}).""",
            f"""Real people may know their doubt less well. In the published answers to 1,000
            photographs (CIFAR-10S), held against the votes of some fifty other people on each
            (CIFAR-10H), six rich answers come closer than the first choices of the same six people
            by KL ({REAL["rich kl"]:g} against {REAL["hard kl"]:g} nats) but not by total variation
            ({REAL["rich tv"]:g} against {REAL["hard tv"]:g}). Measure your own task before you
            choose.""",
        ],
    )


def making(found: Findings, learning: Learning | None) -> Section:
    rich, votes = len(found.study.rich), len(found.study.votes)
    files = {
        "study/": "the study as it was served, with its pictures, and the answers as exported",
        "answers.jsonl": "every rich answer, under the names of this page",
        "votes.csv": "every vote",
        "labels.npz": f"the labels of rich answers ({RECIPES[RICH].steps})",
        "truth.npz": "the true distributions",
        "people.csv": "what was put into each person",
    }
    training = []
    if learning is not None:
        files["beliefs.npz"] = "what every network believes of the new pictures, and their truth"
        training = [lessons.making(learning)]
    return Section(
        "How it was made",
        [
            f"""{ITEMS} pictures of {len(shapes.LABELS)} shapes; {PEOPLE} simulated people;
            {rich:,} rich answers ({PER_ITEM} people per picture, and {REPEATS} repeats by each
            person) and {votes:,} votes; softlabel {__version__}; seed {found.seed}. The same seed
            gives the same page. Intervals are percentile bootstraps over pictures.""",
            """The rich answers were collected by a server that ran on this machine while the page
            was made: every simulated person went through consent, instructions and quiz, was given
            pictures, sent their answers over HTTP, had each acknowledged once it was on the disk,
            and finished. Then the server was stopped and its database exported. The votes took no
            server: the same people, asked for one click on every picture.""",
            *training,
            "Beside this page lie:",
            listing(*(join(el("code", name), ": ", words) for name, words in files.items())),
            "The same steps on these files, and on data of your own:",
            command(*COMMANDS),
            """Collins, Bhatt and Weller 2022: Eliciting and Learning with Soft Labels from Every
            Annotator (CIFAR-10S), arXiv 2207.00810. Peterson, Battleday, Griffiths and Russakovsky
            2019: Human Uncertainty Makes Classification More Robust (CIFAR-10H), ICCV.""",
        ],
    )
