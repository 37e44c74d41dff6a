"""``judge``: ask a model about the items of a study."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from softlabel.cli import shared
from softlabel.errors import FileError, SoftlabelError

if TYPE_CHECKING:
    from softlabel import judges
    from softlabel.study import Study

FAILED = 3  # failures that are shown


@shared.command()
def judge(  # noqa: PLR0913  (a command has as many arguments as options)
    folder: Path,
    endpoint: str | None = None,
    model: str | None = None,
    command: str | None = None,
    samples: int = 5,
    limit: int | None = None,
    rate: float | None = None,
    concurrency: int = 4,
    price_in: float | None = None,
    price_out: float | None = None,
    prompt: Path | None = None,
    show: int | None = None,
    dry_run: bool = False,
    yes: bool = False,
    load: Path | None = None,
) -> None:
    """Ask a model about the items of a study, and keep every reply in DIR/judges.

    The prompt is made from the study: its question, the labels with their descriptions, and the
    item's texts and pictures. Where the server gives log-probabilities one request per item is
    enough; otherwise the model is asked several times. The labels stand in an order that is drawn
    for each request.

    Run the same command again to go on after an interruption: what was answered is not asked
    again. Replies that name no label are kept and counted, and are not used. 'softlabel label
    ANSWERS OUT --aggregate judged --judges DIR' learns from what was said.
    """
    from softlabel import judges
    from softlabel import study as studies

    shared.load_strategies(load)
    study = studies.read(folder)
    asking = judges.Prompt(study, _read_template(prompt))
    if show is not None:
        _show(asking, study, show)
        return
    if model is None or ((endpoint is None) == (command is None) and not dry_run):
        raise SoftlabelError(
            "say whom to ask: --model NAME, and either --endpoint URL or --command LINE"
        )
    prices = judges.Prices(price_in, price_out)
    left = judges.estimate(study, model, prompt=asking, samples=samples, limit=limit)
    path, name = judges.find_log(asking, model)
    if name != model:
        typer.echo(f"note: the prompt has changed; what {model} says is kept as {name}", err=True)
    shared.show_facts(_say_estimate(left, prices, path))
    if dry_run or not left.items:
        return
    if not yes:
        typer.confirm("Ask?", abort=True, err=True)
    options: Any = {"samples": samples, "limit": limit, "concurrency": concurrency}
    with _open(endpoint, model, command, rate) as answer, _keep(path), shared.progress() as tell:
        bill = judges.ask(study, answer, model, prompt=asking, **options, progress=tell)
    typer.echo()
    shared.show_facts(_say_bill(bill, prices))
    if bill.failed:
        for text in list(bill.failed.values())[:FAILED]:
            typer.echo(f"failed: {text}", err=True)
        raise SoftlabelError(
            f"{len(bill.failed):,} items have no answer yet; run the same command again"
        )


@contextmanager
def _keep(path: Path) -> Iterator[None]:
    """Say what is kept after Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        text = f"stopped; what was answered is kept in {path}, and the same command goes on there"
        typer.echo(text, err=True)
        raise typer.Exit(130) from None


def _read_template(path: Path | None) -> str:
    from softlabel import judges

    if path is None:
        return judges.TEMPLATE
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise FileError(path, "there is no such file") from None
    except UnicodeDecodeError as error:
        raise FileError(path, f"is not UTF-8 text: {error.reason}") from None


def _show(asking: judges.Prompt, study: Study, number: int) -> None:
    if number > len(study.items):
        raise SoftlabelError(f"--show {number}: the study has {len(study.items):,} items")
    item = study.items[number - 1]
    asked = asking.ask(item, 1)
    typer.echo(asked.text)
    for one in (item.image, item.image_2):
        if one is not None:
            typer.echo(f"[{one.mime}, {one.path.stat().st_size:,} bytes: {one.path.name}]")


def _open(
    endpoint: str | None, model: str, command: str | None, rate: float | None
) -> AbstractContextManager[Any]:
    from softlabel import judges

    if endpoint is not None:
        return judges.Endpoint(endpoint, model, rate=rate)
    assert command is not None, "one of the two was given"
    return judges.Command(command)


def _say_estimate(left: judges.Estimate, prices: judges.Prices, path: Path) -> dict[str, str]:
    least, most = left.requests
    done = f", {left.done:,} are answered" if left.done else ""
    facts = {"items": f"{left.items:,} to ask about{done}", "log": str(path)}
    if not left.items:
        return facts
    per_item = most / least
    facts["requests"] = f"{least:,} with log-probabilities, else {most:,}"
    read, written = left.tokens
    facts["tokens"] = f"about {read:,} read and {written:,} written, else {per_item:.3g} times that"
    cost = prices.bill(read, written)
    facts["cost"] = (
        "not known: give --price-in and --price-out, per million tokens"
        if cost is None
        else f"about {cost:.2f}, else {cost * per_item:.2f}"
    )
    return facts


def _say_bill(bill: judges.Bill, prices: judges.Prices) -> dict[str, str]:
    read, written = bill.tokens
    ways = {
        "logprobs": "with log-probabilities",
        "stated": "with chances",
        "reply": "samples that are a label",
    }
    failed = f", {len(bill.failed):,} failed" if bill.failed else ""
    answers = ", ".join(f"{number:,} {ways[how]}" for how, number in bill.ways.items())
    facts = {
        "items": f"{bill.items:,} answered{failed}",
        "requests": f"{bill.requests:,}: {answers or 'none of them readable'}",
        "unreadable": f"{bill.unreadable:,}; kept as they came, and not used",
        "tokens": f"{read:,} read and {written:,} written",
    }
    cost = prices.bill(read, written)
    return facts if cost is None else facts | {"cost": f"{cost:.4f}"}
