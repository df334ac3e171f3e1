"""Write what of the documentation is made by code (``make docs-reference``)."""

from pages.everything import DOCS, everything


def main() -> None:
    """Write all of it into ``docs``."""
    for name, text in everything().items():
        file = DOCS / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
