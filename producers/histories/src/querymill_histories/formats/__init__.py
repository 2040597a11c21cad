"""The formats that can be read, in the order in which they are recognised. A new one is a file and a name here."""

from typing import Final

from querymill_histories.formats import (
    aider,
    chatgpt,
    claude,
    claude_code,
    cline,
    codex,
    copilot,
    copilot_cli,
    cursor,
    deepseek,
    discord,
    gemini,
    google_chat,
    librechat,
    matrix,
    mbox,
    messenger,
    open_webui,
    openai,
    opencode,
    signal,
    slack,
    specstory,
    telegram,
    whatsapp,
    zulip,
)
from querymill_histories.session import HistoryFormat

FORMATS: Final[tuple[HistoryFormat, ...]] = tuple(
    module.FORMAT
    for module in (
        claude_code, codex, chatgpt, claude, cursor, aider, gemini, copilot, copilot_cli, cline, opencode, specstory,
        deepseek, open_webui, librechat, slack, telegram, signal, whatsapp, discord, messenger, google_chat, matrix,
        zulip, mbox, openai,
    )
)  # fmt: skip
BY_NAME: Final = {known.name: known for known in FORMATS}
