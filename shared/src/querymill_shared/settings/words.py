"""Words of your field that requests are read with."""

from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings

from querymill_shared.shorthands import MODULE_SHORTHANDS


class WordSettings(BaseSettings):
    """Words of your field that requests are read with."""

    querymill_module_shorthands: Annotated[
        dict[str, list[str]],
        Field(
            description="names that stand for modules in a request: a plain name, or an alias with its modules (JSON)",
        ),
    ] = MODULE_SHORTHANDS
    querymill_glossary: Annotated[
        str,
        Field(
            description="terms of questions about reports, beside the built-in ones: a JSON object (or the path of a"
            " file with one) of explanations, or of objects with explanation, zh, also, stated_as",
        ),
    ] = ""
    querymill_lexicon: Annotated[
        str,
        Field(
            description="path of your own translations and synonyms, a .tsv with the columns terms, english, domains;"
            " workers add them to requests from their next start, and nothing is indexed again",
        ),
    ] = ""
    querymill_technical_keywords: Annotated[
        list[str],
        Field(
            description="terms that make a conversation technical (JSON); empty: the built-in list",
        ),
    ] = []
