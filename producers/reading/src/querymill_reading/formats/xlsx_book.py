"""The workbook of an XLSX file, opened so that a damaged style or property costs no figure."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO, Final

from lxml import etree
from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.stylesheet import apply_stylesheet
from openpyxl.xml.constants import SHARED_STRINGS

from querymill_reading.document import Remarks, Unreadable
from querymill_reading.formats.xlsx_sheet import Sheet
from querymill_reading.formats.zipped import recovered

_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_STYLES: Final = "xl/styles.xml"
#: A workbook has no more styles of cells.
MAX_STYLES: Final = 65_000


class Book:
    """A workbook; what of it was damaged is a remark.

    Raises:
        Exception: There is no list of sheets that the engine reads.
    """

    def __init__(self, source: BinaryIO, *, remarks: Remarks) -> None:
        self._reader = ExcelReader(source, read_only=True, data_only=True, keep_links=False)
        self._reader.read_manifest()
        self._reader.read_workbook()
        self._remarks = remarks
        self._read_strings()
        self._read_styles()

    def sheets(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Yield the name of each sheet of cells, and what opens it."""
        for sheet in self._reader.parser.sheets:
            relation = None
            with self._remarks.part(f"sheet {sheet.name}"):
                if sheet.id not in self._reader.parser.rels:
                    raise Unreadable("left out: the workbook does not say which part it is")
                relation = self._reader.parser.rels[sheet.id]
            if relation is None:
                continue
            if "worksheet" not in relation.Type:
                self._remarks.note(f"left out: a {relation.Type.rpartition('/')[2]}", f"sheet {sheet.name}")
                continue
            if sheet.state != "visible":
                self._remarks.note("a hidden sheet, read all the same", f"sheet {sheet.name}")
            yield sheet.name, partial(self._sheet, sheet.name, relation.target)

    def title_and_author(self) -> tuple[str, str]:
        """Return what the properties say."""
        with self._remarks.part("properties"):
            self._reader.read_properties()
        about = self._reader.wb.properties
        return about.title or "", about.creator or ""

    def _sheet(self, name: str, member: str) -> Any:
        if member not in self._reader.valid_files:
            raise Unreadable(f"the file lacks {member}")
        return Sheet(self._reader.wb, name, member, self._reader.shared_strings)

    def _read_strings(self) -> None:
        """Read the texts that cells share. Of a damaged list, those before the damage are read."""
        reader = self._reader
        with self._remarks.part("shared strings"):
            try:
                reader.read_strings()
            except Exception:
                reader.shared_strings = _strings(reader.archive.read(reader.package.find(SHARED_STRINGS).PartName[1:]))
                raise
            finally:
                reader.shared_strings = _Strings(reader.shared_strings)

    def _read_styles(self) -> None:
        """Read the styles. Of styles that the engine refuses, the forms of numbers alone are read."""
        reader = self._reader
        try:
            apply_stylesheet(reader.archive, reader.wb)
        except (MemoryError, ImportError):
            raise
        except Exception:  # noqa: BLE001  # no figure depends on the rest
            with self._remarks.part("styles"):
                apply_stylesheet(_Styles(_forms_of_numbers(reader.archive.read(_STYLES))), reader.wb)


class _Strings(list[str]):
    """The texts that cells share. One that is missing is empty."""

    def __getitem__(self, at: Any) -> Any:
        return super().__getitem__(at) if at < len(self) else ""


class _Styles:
    """Stands in for an archive whose styles are others."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self, _: str) -> bytes:
        return self._content


def _strings(raw: bytes) -> list[str]:
    """Return the texts of a list of shared strings, without how they are pronounced."""
    found = []
    for entry in recovered(raw).iter(f"{{{_MAIN}}}si"):
        texts = entry.iter(f"{{{_MAIN}}}t")
        found.append("".join(text.text or "" for text in texts if text.getparent().tag != f"{{{_MAIN}}}rPh"))
    return found


def _forms_of_numbers(raw: bytes) -> bytes:
    """Return a stylesheet with the forms of numbers of another one, and with nothing else."""
    given = recovered(raw)
    plain = etree.Element(f"{{{_MAIN}}}styleSheet", nsmap={None: _MAIN})
    forms = etree.SubElement(plain, f"{{{_MAIN}}}numFmts")
    for form in given.iter(f"{{{_MAIN}}}numFmt"):
        number, code = form.get("numFmtId") or "", form.get("formatCode")
        if number.isdecimal() and code and form.getparent().tag == f"{{{_MAIN}}}numFmts":
            etree.SubElement(forms, form.tag, numFmtId=number, formatCode=code)
    for path in (("fonts", "font"), ("fills", "fill", "patternFill"), ("borders", "border"), ("cellStyleXfs", "xf")):
        element = plain
        for name in path:
            element = etree.SubElement(element, f"{{{_MAIN}}}{name}")
    styles = etree.SubElement(plain, f"{{{_MAIN}}}cellXfs")
    for style in list(given.iterfind(f"{{{_MAIN}}}cellXfs/{{{_MAIN}}}xf"))[:MAX_STYLES]:
        number = style.get("numFmtId") or ""
        etree.SubElement(styles, style.tag, numFmtId=number if number.isdecimal() else "0")
    names = etree.SubElement(plain, f"{{{_MAIN}}}cellStyles")
    etree.SubElement(names, f"{{{_MAIN}}}cellStyle", name="Normal", xfId="0", builtinId="0")
    return bytes(etree.tostring(plain))
