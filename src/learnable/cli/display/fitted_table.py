"""A table that fits its terminal: it leaves out its least needed columns and folds names, and never cuts a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, OverflowMethod, RenderableType
from rich.table import Table
from rich.text import Text

from learnable.data.plain_text import escape_controls

GAPS = (2, 1)  # spaces between columns: one where two are too many


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a `FittedTable`.

    `heading` may have several lines. A column of `text` folds, down to `text` columns of the terminal, or is cut there
    with an ellipsis where it may be (`cut`); 0 makes it one of figures, which are never folded or cut. Where the
    terminal is too narrow, columns are left out by `need`, the lowest first; 0 says that it always stays.
    """

    heading: str
    text: int = 0
    need: int = 0
    cut: bool = False

    @property
    def name(self) -> str:
        """The heading on one line."""
        return self.heading.replace("-\n", "-").replace("\n", " ")


class FittedTable:
    """Rows under columns, laid out when the width of the console is known."""

    def __init__(self, columns: Sequence[Column], title: str = "") -> None:
        self.columns = columns
        self.title = title
        self.rows: list[tuple[Sequence[str], str]] = []

    def add_row(self, *cells: str, style: str = "") -> None:
        """Add a row, a cell for each column; cells are plain text."""
        self.rows.append(([escape_controls(cell) for cell in cells], style))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Lay the table out for the console's width."""
        shown, gap = self._fit(options.max_width)
        if self.title:
            yield Text(escape_controls(self.title), style="dim", overflow="fold")
        yield self._table(shown, gap, options.max_width)
        if left_out := [column.name for place, column in enumerate(self.columns) if place not in shown]:
            yield Text(f"too narrow for: {', '.join(left_out)}", style="dim")

    def _fit(self, width: int) -> tuple[list[int], int]:
        """Return the places of the columns that are shown, and the spaces between them."""
        shown = list(range(len(self.columns)))
        while True:
            for gap in GAPS:
                if self._least_width(shown, gap) <= width:
                    return shown, gap
            droppable = [place for place in shown if self.columns[place].need]
            if not droppable:
                return shown, GAPS[-1]
            shown.remove(min(droppable, key=lambda place: self.columns[place].need))

    def _least_width(self, shown: Sequence[int], gap: int) -> int:
        return sum(self._width(place, self.columns[place].text) for place in shown) + gap * (len(shown) - 1)

    def _width(self, place: int, fold: int = 0) -> int:
        """Return the width of a column in characters, at most `fold` where that is not 0."""
        texts = [self.columns[place].heading, *(cells[place] for cells, _ in self.rows)]
        natural = max(cell_len(line) for text in texts for line in text.split("\n"))
        return min(natural, fold) if fold else natural

    def _table(self, shown: Sequence[int], gap: int, width: int) -> Table:
        table = Table(box=SIMPLE_HEAD, padding=(0, gap - 1, 0, 0), show_edge=False, pad_edge=False)
        left = max(0, width - self._least_width(shown, gap))
        for place in shown:
            column = self.columns[place]
            size = self._width(place, column.text)
            grown = min(self._width(place), size + left) if column.text else size
            left -= grown - size
            justify: JustifyMethod = "left" if column.text else "right"
            no_wrap = column.cut or not column.text
            overflow: OverflowMethod = "ellipsis" if column.cut else "fold"
            table.add_column(Text(column.heading), justify=justify, width=grown, overflow=overflow, no_wrap=no_wrap)
        for cells, style in self.rows:
            table.add_row(*(Text(cells[place]) for place in shown), style=style)
        return table


def figure(value: float | None, digits: int = 2, *, signed: bool = False) -> str:
    """Write a number without a zero before its point; `-` where there is none.

    >>> figure(0.45), figure(1), figure(-0.003, signed=True), figure(0.05, signed=True), figure(None)
    ('.45', '1.00', '.00', '+.05', '-')
    """
    if value is None:
        return "-"
    rounded = round(value, digits) + 0.0  # no minus before a zero
    sign = "+" if signed and rounded > 0 else "-" if rounded < 0 else ""
    return sign + f"{abs(rounded):.{digits}f}".removeprefix("0")
