from importlib import resources

import pytest

from querymill_workers.postgres.queries import statements


def test_a_heading_begins_each_statement() -> None:
    session = statements("querymill_workers.postgres", "session.sql")
    assert session["lock_limit"] == "SELECT set_config('lock_timeout', %(limit)s, true);"


def test_a_name_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match=r"session\.sql: the statement 'statement_limit' is defined twice"):
        statements("querymill_workers.postgres", "session.sql", "session.sql")


def test_every_statement_file_is_a_stores_own() -> None:
    package = resources.files("querymill_workers")
    found = {path.name for path in (package / "postgres").iterdir() if path.name.endswith(".sql")}
    assert found == {"vector_index.sql", "schema.sql", "session.sql", "row_security.sql"}
