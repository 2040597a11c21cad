"""Bring the database to the newest schema: ``python -m querymill_workers.migrate``.

With ``--check`` nothing is changed: it says what is missing of the schema and of the walls between collections, and
whether the server takes no writes.
"""

import sys

import psycopg

from querymill_shared.settings import Settings
from querymill_workers import logs
from querymill_workers.postgres.faults import fault_of
from querymill_workers.postgres.migrate import (
    SchemaMismatch,
    WritesRefused,
    check,
    check_writable,
    database_ahead_s,
    migrate,
)


def main() -> int:
    """Apply the missing migrations, or only check.

    Returns 0 if the schema fits, 3 if the database is away or takes no writes for now, else 1.
    """
    settings = Settings()
    logs.configure(settings.querymill_log_level)
    try:
        if "--check" in sys.argv[1:]:
            _check(settings)
        else:
            _migrate(settings)
    except (SchemaMismatch, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except WritesRefused as error:
        sys.stderr.write(f"{error}\n")
        return 3
    except psycopg.Error as error:
        sys.stderr.write(f"DATABASE_URL: {settings.mask_secrets(str(error).strip())}\n")
        return 1 if fault_of(error) is None else 3
    return 0


def _check(settings: Settings) -> None:
    url = settings.database_url.get_secret_value()
    check(url, prepares=settings.querymill_prepared_statements)
    sys.stdout.write("the schema is up to date, and the walls between collections stand\n")
    sys.stdout.write(f"its clock is ahead of this machine's by {database_ahead_s(url):.3f} s\n")
    check_writable(url)


def _migrate(settings: Settings) -> None:
    url = settings.database_url.get_secret_value()
    check_writable(url)
    applied = migrate(url)
    sys.stdout.write(f"applied: {', '.join(applied) or 'nothing, the schema is up to date'}\n")


if __name__ == "__main__":
    sys.exit(main())
