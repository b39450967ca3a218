#!/bin/sh
# HAProxy in front of the nodes: writes their backends behind /etc/dueq/haproxy.cfg and becomes it.
#
#   DUEQ_NODES   the nodes' addresses, with spaces between. They have to name this one in DUEQ_PROXIES:
#                it tells them whose each connection is (PROXY protocol)
set -eu

conf=/tmp/haproxy.cfg
servers() { # BACKEND PORT WORDS: `%` is the server's number
    number=0
    for address in ${DUEQ_NODES:?"is not set: the addresses of the nodes"}; do
        number=$((number + 1))
        echo "    server node$number $address:$2 $(echo "$3" | sed "s/%/$number/")"
    done
}
{
    cat /etc/dueq/haproxy.cfg
    for who in leader ready; do
        printf '\nbackend http_%s\n' $who
        echo "    http-check send meth GET uri /health/$who ver HTTP/1.1 hdr Host localhost"
        servers http 8000 'check check-send-proxy send-proxy-v2'
        printf '\nbackend gmq_%s\n' $who
        servers gmq 9503 "track http_$who/node% send-proxy-v2"
    done
} >$conf
exec haproxy -db -f $conf "$@"
