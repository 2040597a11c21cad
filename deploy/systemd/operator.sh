# The settings of the fleet for a shell of root, from which `querymill` and psql are run: . /etc/querymill/operator.sh
set -a
. /etc/querymill/settings.env
REDIS_URL_FILE=/etc/querymill/secrets/redis-url-worker
OPENAI_API_KEY_FILE=/etc/querymill/secrets/openai-api-key
DATABASE_URL=$(cat /etc/querymill/secrets/database-url)
if [ -e /etc/querymill/secrets/broker-url-worker ]; then CELERY_BROKER_URL_FILE=/etc/querymill/secrets/broker-url-worker; fi
set +a
