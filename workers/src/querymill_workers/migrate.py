"""Bring the database to the newest schema: ``python -m querymill_workers.migrate``.

With ``--check`` nothing is changed: it says what is missing of the schema and of the walls between collections.
"""

import sys

import psycopg

from querymill_shared.settings import Settings
from querymill_workers.postgres.migrate import SchemaMismatch, check, database_ahead_s, migrate


def main() -> int:
    """Apply the missing migrations, or only check. Return 0 if the schema fits, 3 if the database is away, else 1."""
    settings = Settings()
    try:
        if "--check" in sys.argv[1:]:
            check(settings.database_url.get_secret_value())
            sys.stdout.write("the schema is up to date, and the walls between collections stand\n")
            ahead_s = database_ahead_s(settings.database_url.get_secret_value())
            sys.stdout.write(f"its clock is ahead of this machine's by {ahead_s:.3f} s\n")
            return 0
        applied = migrate(settings.database_url.get_secret_value())
    except (SchemaMismatch, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
        sys.stderr.write(f"DATABASE_URL: {settings.mask_secrets(str(error).strip())}\n")
        return 3 if isinstance(error, psycopg.OperationalError) else 1
    sys.stdout.write(f"applied: {', '.join(applied) or 'nothing, the schema is up to date'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
