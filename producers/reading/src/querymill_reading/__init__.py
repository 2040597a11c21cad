"""Reading documents as they are: a file becomes pages, and a title, company, period and date are proposed."""

from querymill_reading.document import Document, EngineMissing, Page, ReadLimits, Remark, Unreadable
from querymill_reading.process import Reader

__all__ = ["Document", "EngineMissing", "Page", "ReadLimits", "Reader", "Remark", "Unreadable"]
