"""Slack: the text of a message, which stands in its ``text``, in blocks, or in what is attached below it."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from querymill_histories.rules.contents import mapping, mappings, spoken, word
from querymill_histories.rules.remarks import PREVIEWS

_LINK: Final = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
#: Where blocks hold more of them, or texts.
_WITHIN: Final = ("title", "text", "fields", "elements", "question", "options", "accessory", "rows")
#: Parts that name something, by the field in which it stands.
_MENTIONS: Final = {
    "user": "user_id", "usergroup": "usergroup_id", "broadcast": "range", "channel": "channel_id", "emoji": "name",
    "date": "fallback",
}  # fmt: skip
#: A block that is nested deeper is left out.
_MAX_DEPTH: Final = 20
#: Parts of a rich text that stand in lines of their own.
_LINES: Final = ("rich_text_section", "rich_text_quote", "rich_text_preformatted", "section", "header", "context")


def text_of(row: dict[str, Any], names: Mapping[str, str], left_out: Counter[str]) -> str:
    """Return the text of a message as Slack shows it, "" if it has none.

    Programs often leave ``text`` empty, and write blocks; what they attach has a text or blocks of its own.
    """
    own = plain(spoken(row.get("text"), left_out), names).strip() or _of_blocks(row.get("blocks"), names)
    cards = [_of_card(card, names, left_out) for card in mappings(row.get("attachments"))]
    return "\n\n".join(dict.fromkeys(filter(None, (own, *(card for card in cards if card not in own)))))


def _of_card(card: dict[str, Any], names: Mapping[str, str], left_out: Counter[str]) -> str:
    """Return the text of an attachment. That of a link that Slack unfolded is not the author's."""
    if card.get("from_url") or card.get("original_url") or card.get("is_app_unfurl"):
        left_out[PREVIEWS] += 1
        return ""
    fields = [
        f"{word(each.get('title')) or ''}: {word(each.get('value')) or ''}" for each in mappings(card.get("fields"))
    ]
    said = [word(card.get(name)) for name in ("pretext", "title", "text")]
    text = "\n".join(filter(None, (*said, *fields))) or _of_blocks(card.get("blocks"), names)
    text = text or _of_message(card, names) or word(card.get("fallback")) or ""
    return plain(text, names).strip()


def _of_message(card: dict[str, Any], names: Mapping[str, str]) -> str:
    parts = (mapping(block.get("message")).get("blocks") for block in mappings(card.get("message_blocks")))
    return "\n".join(filter(None, (_of_blocks(part, names) for part in parts)))


def _of_blocks(blocks: Any, names: Mapping[str, str]) -> str:
    return re.sub(r"\n{2,}", "\n", "".join(_pieces(blocks, names, 0))).strip()


def _pieces(part: Any, names: Mapping[str, str], depth: int) -> Iterator[str]:
    """Yield the texts of a block, in the order in which they are shown."""
    if depth > _MAX_DEPTH:
        return
    parts = part if isinstance(part, list) else [part]
    for each in filter(None, map(mapping, parts)):
        if (said := _piece(each, names)) is not None:
            yield said
        elif each.get("style") == "bullet":
            for item in mappings(each.get("elements")):
                yield f"- {''.join(_pieces(item, names, depth + 1)).strip()}\n"
        else:
            for name in _WITHIN:
                yield from _pieces(each.get(name), names, depth + 1)
            if each.get("type") in _LINES:
                yield "\n"


def _piece(part: Mapping[str, Any], names: Mapping[str, str]) -> str | None:
    """Return what is shown of a part that has no others in it, None of one that has."""
    match part:
        case {"type": "mrkdwn", "text": str(text)}:
            return f"{plain(text, names)}\n"
        case {"type": "plain_text", "text": str(text)}:
            return f"{text}\n"
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "link", "url": str(url)}:
            label = word(part.get("text"))
            return f"{label} ({url})" if label and label not in url else url
        case _:
            kind = str(part.get("type"))
            return _mention(kind, word(part.get(_MENTIONS[kind])) or "", names) if kind in _MENTIONS else None


def _mention(kind: str, named: str, names: Mapping[str, str]) -> str:
    if kind == "emoji":
        return f":{named}:"
    return f"#{named}" if kind == "channel" else f"@{names.get(named, named)}"


def plain(text: str, names: Mapping[str, str]) -> str:
    """Return a text as Slack shows it.

    ``<@U1> see <https://a.example|the page> &lt;b&gt;`` is ``@Ann see the page (https://a.example) <b>``.
    """

    def shown(match: re.Match[str]) -> str:
        target, label = match[1], match[2]
        match target[0]:
            case "@":
                return f"@{names.get(target[1:]) or label or target[1:]}"
            case "#":
                return f"#{label or target[1:]}"
            case "!":
                return label or f"@{target[1:].partition('^')[0]}"
            case _:
                return f"{label} ({target})" if label and label not in target else target

    return _LINK.sub(shown, text).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
