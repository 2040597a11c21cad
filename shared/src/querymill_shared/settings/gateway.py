"""Who may call the gateway, and what the console shows."""

from pathlib import PurePath
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings


def _absolute(folder: str) -> str:
    if not PurePath(folder).is_absolute():
        raise PydanticCustomError("folder", "must be an absolute path")
    return folder


class GatewaySettings(BaseSettings):
    """Who may call the gateway, and what the console shows."""

    querymill_hosts: Annotated[
        list[str],
        Field(
            description="names that the gateway is called by (JSON); empty: any, but without API keys loopback's only",
        ),
    ] = []
    querymill_keys_required: Annotated[
        bool, Field(description="API keys are required even while the board has none; QUERYMILL_HOSTS implies it")
    ] = False
    querymill_cors_origins: Annotated[
        list[str],
        Field(
            description="origins of web pages that may call the gateway, such as https://app.example (JSON)",
        ),
    ] = []
    querymill_console_hide_questions: Annotated[
        bool, Field(description="show no questions in the console's lists of jobs")
    ] = False
    querymill_document_folders: Annotated[
        list[Annotated[str, AfterValidator(_absolute)]],
        Field(
            description="folders whose PDF files the console may show as pictures beside the texts read from them"
            " (JSON); empty: none, but below your home folder for `querymill up`",
        ),
    ] = []
    querymill_gateway_waiting: Annotated[
        int,
        Field(
            ge=1,
            description="requests that wait and streams that one gateway process holds at once; more get 503; a key"
            " gets at most half of them",
        ),
    ] = 4_000
