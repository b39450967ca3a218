#!/usr/bin/env bash
# Certificates for trying TLS out: an authority, and a server, a client and a Redis that it vouches
# for. A Redis is a client, too: of its master, and of the others of a Redis Cluster. Nobody
# keeps the authority's key from others here: real ones come from an authority of your own.
set -euo pipefail
dir=${1:?the directory for them}
names=${2:-DNS:localhost,DNS:$(hostname),IP:127.0.0.1,IP:::1}
days=${DUEQ_TLS_DAYS:-365}

umask 077
mkdir -p "$dir"
cd "$dir"

key() { # NAME
    openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key" 2>/dev/null ||
        openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key"
}

vouch() { # NAME SUBJECT EXTENSIONS
    key "$1"
    openssl req -new -key "$1.key" -subj "$2" |
        openssl x509 -req -CA ca.pem -CAkey ca.key -set_serial "0x$(openssl rand -hex 8)" -sha256 \
            -days "$days" -extfile <(printf '%s\n' "${@:3}") -out "$1.pem" 2>/dev/null
}

key ca
openssl req -x509 -new -key ca.key -subj "/O=dueq trial/CN=authority" -days "$days" -sha256 \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign -out ca.pem
vouch server "/O=dueq trial/CN=server" basicConstraints=critical,CA:FALSE \
    extendedKeyUsage=serverAuth "subjectAltName=$names"
vouch client "/O=dueq trial/CN=client" basicConstraints=critical,CA:FALSE \
    extendedKeyUsage=clientAuth subjectAltName=DNS:client.dueq
vouch redis "/O=dueq trial/CN=redis" basicConstraints=critical,CA:FALSE \
    extendedKeyUsage=serverAuth,clientAuth "subjectAltName=$names"

cat <<END
Certificates are in $PWD. For the node's configuration:

http:
  tls: optional      # or required
tls:
  certificate: $PWD/server.pem
  key: $PWD/server.key
  client_ca: $PWD/ca.pem
  client: optional   # or required
store:
  redis: rediss://localhost:6379
  tls.ca: $PWD/ca.pem
  tls.certificate: $PWD/client.pem
  tls.key: $PWD/client.key

For a Redis that is started by hand:
  redis-server --port 0 --tls-port 6379 --tls-cert-file $PWD/redis.pem --tls-key-file $PWD/redis.key \
      --tls-ca-cert-file $PWD/ca.pem --appendonly yes

Then:
  curl --cacert $PWD/ca.pem --cert $PWD/client.pem --key $PWD/client.key https://localhost:8000/v1/status
  dueqctl --url https://localhost:8000 --ca $PWD/ca.pem --cert $PWD/client.pem --key $PWD/client.key cluster
END
