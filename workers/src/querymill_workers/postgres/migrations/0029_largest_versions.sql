-- The largest versions that are stored, for a board that was moved or has lost its data: see ledger/README.md. Only versions above
-- the board's own are looked for, so blocks of rows with none are passed over.
CREATE INDEX document_versions_written ON document_versions USING brin (written_us, dropped_us) WITH (autosummarize = on);
CREATE INDEX conversation_messages_accepted ON conversation_messages USING brin (accepted_us) WITH (autosummarize = on);
