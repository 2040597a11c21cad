"""What the fields of a model mean, as its docstring says under ``Attributes:``, for the OpenAPI document."""

import re
from collections.abc import Mapping
from typing import Any, Final

_SECTION: Final = re.compile(r"\n*^Attributes:\n(?P<entries>(?:^ {4}.*\n?|^\n)*)", re.M)
_ENTRY: Final = re.compile(r"^ {4}(?P<name>\w+): (?P<text>.*(?:\n {8}.*)*)", re.M)


def describe_fields(schema: dict[str, Any]) -> None:
    """Move what the description of a model says of its fields to the fields. A field's own description stands.

    What has only one value is described by it.

    >>> schema = {"description": "A hit.\\n\\nAttributes:\\n    page: From 1 on.", "properties": {"page": {}}}
    >>> describe_fields(schema)
    >>> schema
    {'description': 'A hit.', 'properties': {'page': {'description': 'From 1 on.'}}}
    """
    properties: Mapping[str, dict[str, Any]] = schema.get("properties", {})
    if found := _SECTION.search(schema.get("description", "")):
        schema["description"] = (schema["description"][: found.start()] + schema["description"][found.end() :]).strip()
        for entry in _ENTRY.finditer(found["entries"]):
            if entry["name"] in properties:
                properties[entry["name"]].setdefault("description", " ".join(entry["text"].split()))
    for field in properties.values():
        if "const" in field:
            field.setdefault("description", f"always `{field['const']}`")
