#!/bin/sh
# Runs once, when the database is made: the role of the application is no superuser, or the walls between collections would not hold.
set -eu
psql --set ON_ERROR_STOP=1 --username postgres --set password="$(cat /run/secrets/database-password)" <<'SQL'
CREATE ROLE querymill LOGIN PASSWORD :'password';
CREATE ROLE querymill_reader;
GRANT querymill_reader TO querymill;
CREATE DATABASE querymill OWNER querymill;
\connect querymill
CREATE EXTENSION vector;
SQL
