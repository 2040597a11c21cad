#!/bin/sh
# The password stands in a file; RabbitMQ reads its first user from a configuration that is made here.
set -eu
cat > /tmp/querymill.conf <<CONF
default_user = querymill
default_pass = $(cat /run/secrets/broker-password)
default_permissions.configure = .*
default_permissions.read = .*
default_permissions.write = .*
loopback_users = none
listeners.tcp.default = 5672
CONF
export RABBITMQ_CONFIG_FILE=/tmp/querymill.conf
exec rabbitmq-server
