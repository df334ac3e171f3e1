"""Put a run's figures and plots into the documentation.

``python -m benchmarks.report_docs`` writes them between two markers of
``docs/performance.md``, so that no figure there was typed by hand.
"""

import argparse
import sys
from pathlib import Path
from typing import Final

from benchmarks.markdown import report
from benchmarks.plots import write_plots
from benchmarks.record import RESULTS, RecordUnusable, read_record

PAGE: Final = Path("docs/performance.md")
BEGIN: Final = "<!-- figures: written by python -m benchmarks.report_docs -->"
END: Final = "<!-- end of figures -->"


def main() -> None:
    """Write the figures of a run into docs/performance.md, and its plots beside it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.report_docs", description=main.__doc__
    )
    parser.add_argument("results", type=Path, nargs="?", default=RESULTS)
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args()
    try:
        record = read_record(arguments.results)
    except RecordUnusable as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    page: Path = arguments.page
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    plots = write_plots(record.rows, folder)
    text = page.read_text(encoding="utf-8")
    figures = report(record, plots, folder=f"{folder.name}/")
    page.write_text(with_figures(text, figures), encoding="utf-8")


def with_figures(page: str, figures: str) -> str:
    """Replace what is between the markers.

    Raises:
        ValueError: The page has no markers.
    """
    before = page[: page.index(BEGIN)]
    after = page[page.index(END) :]
    return f"{before}{BEGIN}\n\n{figures}\n{after}"


if __name__ == "__main__":
    main()
