# Progress for people: sourced by ./dev. A step is one line with its time; its output goes to
# build/log/, and is shown when the step fails.

log_dir=build/log
ticker=

say() {
    printf '%s\n' "$*"
}

# On a terminal the line of the running step lives; elsewhere it speaks up every 30 seconds.
tick() { # NAME LOG
    local begin=$SECONDS
    if [[ -t 1 ]]; then
        while sleep 0.5 >/dev/null 2>&1; do
            printf '\r  %-30s %4ds  %.38s\033[K' "$1" $((SECONDS - begin)) "$(last_line "$2")"
        done
    else
        while sleep 30 >/dev/null 2>&1; do # a killed ticker leaves it: it holds no pipe
            printf '  %-30s %4ds  %.38s\n' "$1" $((SECONDS - begin)) "$(last_line "$2")"
        done
    fi
}

last_line() { # FILE
    tail -c 400 "$1" | tr '\r' '\n' | grep -v '^[[:space:]]*$' | tail -n 1 | tr -d '\000-\037'
}

stop_ticker() {
    [[ -n $ticker ]] || return 0
    { kill "$ticker" && wait "$ticker"; } 2>/dev/null || true
    ticker=
    [[ ! -t 1 ]] || printf '\r\033[K'
}
trap stop_ticker EXIT

# Runs COMMAND quietly. Never call it in a condition: that would switch off `set -e` inside.
step() { # NAME COMMAND...
    local name=$1 begin=$SECONDS rc=0 log
    shift
    mkdir -p "$log_dir"
    log=$log_dir/${name//[^a-z0-9]/-}.log
    : >"$log"
    tick "$name" "$log" &
    ticker=$!
    set +e
    (set -e; trap - EXIT; "$@") >"$log" 2>&1 </dev/null
    rc=$?
    set -e
    stop_ticker
    if ((rc == 0)); then
        printf '  %-30s %4ds  ok\n' "$name" $((SECONDS - begin))
        return 0
    fi
    printf '  %-30s %4ds  FAILED (%d)\n' "$name" $((SECONDS - begin)) "$rc"
    say "---- the end of $log:"
    tail -n 200 "$log"
    exit "$rc"
}

log_of() { # NAME: where the output of that step went
    echo "$log_dir/${1//[^a-z0-9]/-}.log"
}
