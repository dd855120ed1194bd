#!/usr/bin/env bash
# load_lib.sh - what scripts share that put a load on a server: tiny networks, one picture, the figures
#
#   load_start ...           a daemon with tiny networks and room for 64 sessions; further arguments are its flags
#   load SESSIONS MORE PHASE...   bench_client_load (its head explains phases); MORE goes into the sessions' options
#   figure PHASE KEY         from the last load; PHASE `all` = the last line; KEY like others.p99_ms
#   holds A OP B             compares numbers: <= or >=
#
# The networks answer the same everywhere and the fusion is at its smallest: what is loaded is everything around
# them. What is left of the machine is the client's, which is nearly nothing (bench_client_load.c).
# shellcheck source=/dev/null
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"
LOAD=$O/tests/bench/bench_client_load
PICTURE=${PICTURE:-tests/golden/clip/frames/000000.jpg}
TINY=''
tiny_gone() { [[ $TINY == */recond-models-* ]] && rm -rf "$TINY"; finish; }

load_start() {
    if [[ -z $TINY ]]; then
        [[ -x $LOAD ]] || { echo "no $LOAD: make tests builds it" >&2; exit 1; }
        TINY=$("$LOAD" models)
        trap tiny_gone EXIT
    fi
    MODELS=$TINY start_recond --limits.sessions=64 "$@"
    BASE_KB=$(rss_kb)
}

load() { # sessions options phase...
    local sessions=$1 more=$2
    shift 2
    [[ $more == *'"fps"'* ]] || more=${more:+$more,}'"fps":1000' # what is sent is held to nothing but the load
    "$LOAD" push "$URL" "$PICTURE" "$sessions" '{"camera":{"fx":512,"fy":512,"cx":319.5,"cy":239.5,"width":640,"height":480},
        "net":{"width":64,"height":64},"max_points":20000'"${more:+,$more}"'}' "$@" >"$WORK/load"
}

figure() { # phase key
    "$PYTHON" - "$WORK/load" "$1" "$2" <<'PY'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
value = [x for x in lines if x.get('phase', 'all') == sys.argv[2]][0]
for key in sys.argv[3].split('.'):
    value = value.get(key, 0) if isinstance(value, dict) else 0
print(str(value).lower() if isinstance(value, bool) else value)
PY
}

holds() { # number op number
    "$PYTHON" -c 'import sys; a, op, b = sys.argv[1:]; sys.exit(not {"<=": float(a) <= float(b), ">=": float(a) >= float(b)}[op])' "$@"
}
times() { "$PYTHON" -c 'import sys; print(float(sys.argv[1]) * float(sys.argv[2]))' "$1" "$2"; }
most() { "$PYTHON" -c 'import sys; print(max(map(float, sys.argv[1:])))' "$@"; }

# What the daemon may hold: what it held when it was idle, and what it set aside for its sessions.
within_budget() {
    local allowed=$((BASE_KB + $(figure all session_bytes) / 1024)) now
    now=$(rss_kb)
    echo "# resident at most $((now / 1024)) MiB, $((allowed / 1024)) MiB are set aside"
    ((now <= allowed))
}
