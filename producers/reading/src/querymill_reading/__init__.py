"""Reading documents as they are: a file becomes pages, and a title, company, period and date are proposed."""

from querymill_reading.document import Document, EngineMissing, Limits, Page, Remark, Unreadable
from querymill_reading.process import Reader

__all__ = ["Document", "EngineMissing", "Limits", "Page", "Reader", "Remark", "Unreadable"]
