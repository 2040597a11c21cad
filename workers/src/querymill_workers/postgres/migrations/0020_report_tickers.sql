-- Tickers that the cover of a report gives. They are other names of its company, beside those that its source wrote.
ALTER TABLE reports ADD COLUMN tickers text[] NOT NULL DEFAULT '{}';
