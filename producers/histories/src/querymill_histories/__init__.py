"""Histories as other tools write them: sessions of coding assistants, exports of chats, mailboxes."""
