#!/bin/sh
# A Redis of dueq: its file is written anew at each start, from /etc/dueq/redis.conf and the
# environment, but for the one line that Sentinels change: whom it follows. So an old master that
# comes back remembers that it is a replica now. Secrets are in no command line.
#
#   REDIS_PASSWORD       needed; letters, digits and . _ ~ -
#   REDIS_FOLLOWS        "host port" of the first master, at the very first start; empty: it is that
#   REDIS_MIN_REPLICAS   so many replicas must be there, or writes are refused (0)
#   REDIS_MAXMEMORY      of the jobs; well below the container's (512mb)
set -eu
umask 077

case ${REDIS_PASSWORD:?"is not set: see docker/env.sh"} in
    *[!A-Za-z0-9._~-]*) echo "REDIS_PASSWORD: letters, digits and . _ ~ - only" >&2 && exit 78 ;;
esac
conf=/var/lib/redis/redis.conf
if [ -s $conf ]; then
    follows=$(sed -n '/^replicaof /p' $conf)
else
    follows=${REDIS_FOLLOWS:+replicaof $REDIS_FOLLOWS}
fi
{
    cat /etc/dueq/redis.conf
    cat <<END
requirepass $REDIS_PASSWORD
masterauth $REDIS_PASSWORD
min-replicas-to-write ${REDIS_MIN_REPLICAS:-0}
maxmemory ${REDIS_MAXMEMORY:-512mb}
$follows
END
} >$conf.new
mv $conf.new $conf
exec redis-server $conf "$@"
