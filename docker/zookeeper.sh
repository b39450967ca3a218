#!/bin/sh
# A ZooKeeper server of dueq: writes its configuration from the environment and becomes it.
#
#   ZOO_ID        its number, from 1; the place of its address in ZOO_SERVERS
#   ZOO_SERVERS   the addresses of all, with spaces between; one alone needs no quorum
#   ZOO_HEAP      the heap (256m)
#
# tickTime 500: dueq's ha.session_timeout is four ticks or more, 2 s, and a frozen leader is replaced up
# to one and a half ticks after it; a node asks for the tick with `conf`. What dueq keeps here is a few
# hundred bytes.
set -eu

data=/var/lib/zookeeper conf=/var/lib/zookeeper/zoo.cfg
echo "${ZOO_ID:-1}" >$data/myid
{
    cat <<END
dataDir=$data
clientPort=2181
tickTime=500
initLimit=20
syncLimit=5
minSessionTimeout=1000
maxSessionTimeout=60000
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=ruok,srvr,mntr,conf
autopurge.snapRetainCount=3
autopurge.purgeInterval=1
END
    number=0
    for address in ${ZOO_SERVERS:-}; do
        number=$((number + 1))
        echo "server.$number=$address:2888:3888"
    done
} >$conf
[ "$(grep -c '^server\.' $conf)" -gt 1 ] || sed -i '/^server\./d' $conf

jars=/usr/share/java
exec java "-Xmx${ZOO_HEAP:-256m}" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData \
    -XX:+ExitOnOutOfMemoryError -Dorg.slf4j.simpleLogger.showDateTime=true \
    -Dorg.slf4j.simpleLogger.defaultLogLevel="${ZOO_LOG_LEVEL:-info}" \
    -cp "$data:$jars/zookeeper.jar:$jars/slf4j-simple.jar" \
    org.apache.zookeeper.server.quorum.QuorumPeerMain $conf
