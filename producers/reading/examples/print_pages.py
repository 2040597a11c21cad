"""Print the text of documents, page by page. What cannot be read is named on standard error.

Run it in this folder of a checkout:
  pip install "..[engines]"
  python print_pages.py annual-report.pdf minutes.docx
"""

import sys
from pathlib import Path

from querymill_reading import Document, FileReader, Unreadable


def print_document(document: Document) -> None:
    print("# " + " · ".join(document.proposed.values()))
    for page in document.pages:
        print(f"\n## Page {page.label or page.number}\n\n{page.text}")
    print()
    for remark in document.remarks:
        print(f"not read: {remark}", file=sys.stderr)


def main(paths: list[str]) -> int:
    unread = 0
    with FileReader() as reader:  # one process for all files, which a hostile one cannot leave
        for path in paths:
            try:
                print_document(reader.read(Path(path)))
            except Unreadable as error:
                unread += 1
                print(f"{path}: {error}", file=sys.stderr)
    return 1 if unread else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
