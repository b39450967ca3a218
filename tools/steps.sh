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

# Runs COMMAND quietly. Never call it in a condition: that would switch off `set -e` inside.
step() { # NAME COMMAND...
    local name=$1 begin=$SECONDS rc=0 log
    shift
    log=$(new_log "$name")
    tick "$name" "$log" &
    ticker=$!
    set +e
    (set -e; trap - EXIT; "$@") >"$log" 2>&1 </dev/null
    rc=$?
    set -e
    stop_ticker
    tell "$name" $((SECONDS - begin)) "$rc"
    tell_of_ended
}

# A step that only computes, beside the steps that follow: it gets the processor when they leave
# it idle, as they do while they wait. Such steps run one after the other. Each is told of behind
# the step in which it ends.
declare -A beside_pid=()
last_beside=

beside() { # NAME COMMAND...
    local name=$1 before=$last_beside begin log
    shift
    log=$(new_log "$name")
    set -m # a process group, to be ended as one
    (
        set -e
        while [[ -n $before ]] && kill -0 "$before" 2>/dev/null; do sleep 0.5; done
        begin=$SECONDS
        trap 'echo "$((SECONDS - begin)) $?" >"$log.end"' EXIT
        chrt --idle --pid 0 "$BASHPID"
        "$@"
    ) >"$log" 2>&1 </dev/null &
    set +m
    last_beside=$!
    beside_pid[$name]=$last_beside
    printf '  %-30s        beside what follows\n' "$name"
}

runs_beside() { # NAME
    [[ -n ${beside_pid[$1]-} ]] && kill -0 "${beside_pid[$1]}" 2>/dev/null
}

tell_of_ended() {
    local name end seconds rc
    for name in "${!beside_pid[@]}"; do
        ! runs_beside "$name" || continue
        unset "beside_pid[$name]"
        end=$(log_of "$name").end seconds=0 rc=1 # killed, it would not say
        [[ ! -e $end ]] || read -r seconds rc <"$end"
        tell "$name" "$seconds" "$rc"
    done
}

await() { # NAME: of a step beside others, until it has been told of
    if runs_beside "$1"; then
        tick "$1" "$(log_of "$1")" &
        ticker=$!
        while runs_beside "$1"; do
            hurry
            sleep 1
        done
        stop_ticker
    fi
    tell_of_ended
}

# No longer only when the processor is idle: what is awaited, what that waits for, and all that
# these have started (ninja's compilers are in groups of their own). Again and again, because a
# step that begins meanwhile begins as the others did.
hurry() {
    local pid
    for pid in $(ps -e -o pid= -o ppid= -o cls= | awk -v steps=" ${beside_pid[*]} " '
        {parent[$1] = $2; class[$1] = $3}
        END {
            for (pid in parent) {
                for (at = pid; at in parent && !index(steps, " " at " "); at = parent[at]) {}
                if (at in parent && class[pid] == "IDL") print pid
            }
        }'); do
        chrt --other --pid 0 "$pid" 2>/dev/null || true # it has ended since
    done
}

end_all() {
    local pid
    ((BASHPID == $$)) || return 0 # a ticker that was ended as soon as it began
    stop_ticker
    for pid in "${beside_pid[@]}"; do
        kill -- "-$pid" 2>/dev/null || true
    done
    for pid in "${beside_pid[@]}"; do
        await_group "$pid"
    done
}

# Until none of it is left: it would write into what the next run begins.
await_group() { # GROUP of processes that have been told to end
    local tries
    for ((tries = 0; tries < 20; tries++)); do
        kill -0 -- "-$1" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -KILL -- "-$1" 2>/dev/null || true
}
trap end_all EXIT

tell() { # NAME SECONDS RC: ends the script when the step has failed
    local log
    log=$(log_of "$1")
    if (($3 == 0)); then
        printf '  %-30s %4ds  ok\n' "$1" "$2"
        return 0
    fi
    printf '  %-30s %4ds  FAILED (%d)\n' "$1" "$2" "$3"
    say "---- the end of $log:"
    tail -n 200 "$log"
    say_again "$log"
    exit "$3"
}

# How to repeat what failed, where the script has said how (repeat_commands).
say_again() { # LOG
    local commands
    declare -F repeat_commands >/dev/null || return 0
    commands=$(repeat_commands "$1")
    [[ -z $commands ]] || printf '%s\n' "---- again:" "$commands"
}

new_log() { # NAME
    local log
    log=$(log_of "$1")
    mkdir -p "$log_dir"
    rm -f "$log.end"
    : >"$log"
    echo "$log"
}

log_of() { # NAME: where the output of that step went
    echo "$log_dir/${1//[^a-z0-9]/-}.log"
}
