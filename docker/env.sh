#!/bin/sh
# Makes .env beside docker-compose.yml from .env.example, with secrets by chance, readable by its
# owner only. One that is there already stays as it is.
set -eu
cd "$(dirname "$0")/.."

if [ -e .env ]; then
    echo "env.sh: .env is there already, and stays"
    exit 0
fi
by_chance() {
    od -A n -N 24 -t x1 /dev/urandom | tr -d ' \n'
}
umask 077
while IFS= read -r line; do
    case $line in
        DUEQ_SECRET=) echo "$line$(by_chance)" ;;
        DUEQ_REDIS_PASSWORD=) echo "$line$(by_chance)" ;;
        DUEQ_ZOOKEEPER_AUTH=) echo "${line}dueq:$(by_chance)" ;;
        *) printf '%s\n' "$line" ;;
    esac
done <.env.example >.env.new
mv .env.new .env
echo "env.sh: .env is made: keep it as you keep a key"
