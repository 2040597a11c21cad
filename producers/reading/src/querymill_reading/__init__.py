"""Reading documents as they are: a file becomes pages, and a title, company, period and date are proposed."""

from querymill_reading.document import Document, EngineMissing, Page, ReadLimits, Remark, Unreadable
from querymill_reading.ocr import Ocr, OcrMissing
from querymill_reading.process import FileReader

__all__ = [
    "Document", "EngineMissing", "FileReader", "Ocr", "OcrMissing", "Page", "ReadLimits", "Remark", "Unreadable",
]  # fmt: skip
