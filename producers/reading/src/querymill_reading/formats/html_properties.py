"""HTML: what a page says about itself, and the facts of a filing that inline XBRL marks."""

from collections.abc import Mapping
from typing import Any, Final

from querymill_reading.rules.proposals import day_in


def meta_in(root: Any) -> dict[str, str]:
    """Return what the elements for that say about a page, by their names in small letters."""
    found: dict[str, str] = {}
    for element in root.iterdescendants("meta"):
        name = (element.get("name") or element.get("property") or "").lower()
        if name and element.get("content"):
            found.setdefault(name, element.get("content").strip()[:1_000])
    return found | ({"lang": root.get("lang")} if root.get("lang") else {})


_DAYS: Final = ("article:published_time", "dcterms.date", "dc.date", "date", "citation_publication_date", "pubdate")


def said_in_meta(about: Mapping[str, str]) -> dict[str, str]:
    """Propose the day, if a page says it."""
    day = next((day_in(about[name]) for name in _DAYS if name in about), "")
    return {"published_at": day} if day else {}


def facts_in(root: Any) -> dict[str, str]:
    """Return the facts of the cover page that inline XBRL marks: those of the taxonomy "dei"."""
    facts: dict[str, str] = {}
    for element in root.iter("ix:nonnumeric"):
        name = element.get("name") or ""
        if name.startswith("dei:"):
            text = " ".join("".join(element.itertext()).split())
            if text:
                facts.setdefault(name.removeprefix("dei:"), text[:500])
    return facts


def said_in_filing(facts: Mapping[str, str]) -> dict[str, str]:
    """Propose fields from the facts of a filing."""
    company, form = facts.get("EntityRegistrantName", ""), facts.get("DocumentType", "")
    if not company:
        return {}
    ended = day_in(facts.get("DocumentPeriodEndDate", ""))
    when = facts.get("DocumentPeriodEndDate", "")
    year = facts.get("DocumentFiscalYearFocus", "") or ended[:4]
    quarter = facts.get("DocumentFiscalPeriodFocus", "")
    period = f"{year} {quarter}" if quarter.startswith("Q") and year else year
    span = "year" if form.upper().startswith(("10-K", "20-F", "40-F")) else "period"
    title = f"{company}, Form {form} for the {span} ended {when}" if form and when else company
    return {"title": title, "company": company, "period": period}


def filing_of(facts: Mapping[str, str]) -> dict[str, str]:
    """Return the metadata of a filing."""
    names = {"DocumentType": "form", "TradingSymbol": "ticker", "EntityCentralIndexKey": "cik"}
    return {ours: facts[name] for name, ours in names.items() if facts.get(name)}
