#!/bin/sh
# Makes the passwords of the servers, and the addresses with them, in the folder `secrets`. What is there stays as it is.
set -eu
cd "$(dirname "$0")"
mkdir -p secrets
chmod 700 secrets
umask 022 # users of containers read the files; nobody else gets into the folder

new() { head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
keep() { [ -e "secrets/$1" ] || printf %s "$2" > "secrets/$1"; }

if [ ! -e secrets/users.acl ]; then
  cp ../valkey/users.acl secrets/users.acl.new
  for user in producer gateway worker keeper; do
    password=$(new)
    sum=$(printf %s "$password" | sha256sum | cut -d ' ' -f 1)
    sed "s/^\(user $user on #\)0\{64\}/\1$sum/" secrets/users.acl.new > secrets/users.acl.next
    mv secrets/users.acl.next secrets/users.acl.new
    printf %s "redis://$user:$password@board:6379/0" > "secrets/redis-url-$user"
  done
  mv secrets/users.acl.new secrets/users.acl
fi
keep postgres-password "$(new)"
keep database-password "$(new)"
keep broker-password "$(new)"
password=$(cat secrets/database-password)
keep database-url "postgresql://querymill:$password@database:5432/querymill"
keep pooled-database-url "postgresql://querymill:$password@pgbouncer:6432/querymill"
keep pgbouncer-users "\"querymill\" \"$password\""
keep broker-url "amqp://querymill:$(cat secrets/broker-password)@rabbitmq:5672/"
keep prometheus-key ""
[ -e secrets/openai-api-key ] || { : > secrets/openai-api-key; echo "Put the key of your provider into deploy/compose/secrets/openai-api-key"; }
