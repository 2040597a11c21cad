"""``querymill costs``: what calls of models cost, by day, model, API key, collection or label."""

import json
from typing import Annotated

import typer

from querymill.cli.exits import Unreachable
from querymill.cli.stack import JsonOption
from querymill.cli.terminal import Console, echo
from querymill.costs import SHOWN_DAYS, By, budget_figures, budgets, figures_of, rows_by, spent, table_of
from querymill_shared.costs import DAYS_KEPT
from querymill_shared.settings import Settings
from querymill_shared.urls import mask


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(costs)


def costs(
    by: Annotated[By, typer.Option(help="what a row stands for")] = "day",
    days: Annotated[
        int, typer.Option(min=1, max=DAYS_KEPT, help="how many days, with today; a day is one of UTC")
    ] = SHOWN_DAYS,
    as_json: JsonOption = False,
) -> None:
    """Show what calls of models took and cost, at the prices of QUERYMILL_PRICES.

    A cached answer costs nothing. Of a call that several jobs share, the first pays. A model without a price has tokens
    and no money. `querymill keys list` shows what keys have spent of their budgets.
    """
    settings = Settings()
    sums = spent(settings, days)
    if sums is None:
        raise Unreachable(f"the board does not answer at {mask(settings.redis_url)}")
    if as_json:
        listed = [budget_figures(budget) for budget in budgets(settings)]
        echo(json.dumps({"sums": figures_of(sums), "budgets": listed}))
    elif sums:
        Console().print(table_of(by, rows_by(by, sums)))
    else:
        echo("no model was called on these days")
