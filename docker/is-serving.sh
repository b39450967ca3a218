#!/bin/bash
# The health check of the images that are not the node: is-serving.sh zookeeper|redis|sentinel|haproxy
# (bash, for its /dev/tcp: the images have no client of HTTP.)
set -eu
ask() { # PORT TEXT
    exec 3<>"/dev/tcp/127.0.0.1/$1"
    printf '%b' "$2" >&3
    cat <&3
}

export REDISCLI_AUTH=${REDIS_PASSWORD-}
case ${1-} in
    zookeeper) ask 2181 srvr | grep '^Mode:' ;; # only one that has a quorum tells its mode
    redis) redis-cli -p 6379 ping | grep PONG ;;
    sentinel) redis-cli -p 26379 ping | grep PONG ;;
    haproxy) ask 8404 'GET /health HTTP/1.0\r\n\r\n' | grep '^HTTP/1.[01] 200' ;;
    *) echo "usage: is-serving.sh zookeeper|redis|sentinel|haproxy" >&2 && exit 2 ;;
esac
