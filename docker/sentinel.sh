#!/bin/sh
# A Sentinel of dueq. The file is made at the first start, then it is Sentinel's own: there it keeps
# who the master is, which epoch it is and whom it knows. Only the passwords are put in anew, from
# the environment; `user default`, which Sentinel has made of the one before, would win, and is left
# out. Secrets are in no command line.
#
#   REDIS_PASSWORD   of Redis and of the Sentinels; letters, digits and . _ ~ -
#   REDIS_MASTER     the address of the first master
#   SENTINEL_QUORUM  so many must find the master dead (2)
set -eu
umask 077

case ${REDIS_PASSWORD:?"is not set: see docker/env.sh"} in
    *[!A-Za-z0-9._~-]*) echo "REDIS_PASSWORD: letters, digits and . _ ~ - only" >&2 && exit 78 ;;
esac
conf=/var/lib/redis/sentinel.conf
: "${REDIS_MASTER:?"is not set"}" # asked here: a pipeline goes on without it
begin() {
    cat /etc/dueq/sentinel.conf
    cat <<END
sentinel monitor dueq $REDIS_MASTER 6379 ${SENTINEL_QUORUM:-2}
sentinel down-after-milliseconds dueq 3000
sentinel failover-timeout dueq 10000
END
}
{
    if [ -s $conf ]; then cat $conf; else begin; fi |
        grep -v -e '^requirepass ' -e '^user default ' -e '^sentinel sentinel-pass ' \
            -e '^sentinel auth-pass '
    cat <<END
requirepass $REDIS_PASSWORD
sentinel sentinel-pass $REDIS_PASSWORD
sentinel auth-pass dueq $REDIS_PASSWORD
END
} >$conf.new
mv $conf.new $conf
exec redis-server $conf --sentinel "$@"
