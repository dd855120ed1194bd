#!/usr/bin/env bash
# lib.sh - what the end-to-end scripts share: TAP, a daemon of one's own, reconctl
#
#   plan N            must come first; `skip_all REASON` instead ends the script
#   check NAME COND.. one test: runs the command, "ok" when it succeeds
#   bound NAME COND.. the same for a figure that depends on the machine: with BOUNDS=1 a test, else a remark; plan with
#                     $((tests + BOUNDS * bounds))
#   eventually COND.. waits until the command succeeds, a minute at most
#   start_recond ...  a daemon on free ports; sets URL, STREAM and PID; further arguments are its flags
#   stop_recond       SIGTERM, waits; its status is in $STOPPED
#   ctl ...           reconctl against it
#   recond_eval ...   tests/eval, which asks the reconctl of $O
#   field KEY FILE    a member of the last JSON line of a file that has it; a.b goes into maps
#
# Environment: O=build folder; SEQ=folder of a sequence; MODELS=folder of networks; BOUNDS=1 on a calm machine
# shellcheck shell=bash disable=SC2034
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2
O=${O:?say where the programs are: O=build/cpu-release}
MODELS=${MODELS:-gpu/models}
SEQ=${SEQ:-tests/golden/clip}
BOUNDS=$((${BOUNDS:-0} == 1))
TREE=$PWD
RECONCTL=$(realpath "$O/reconctl")
export RECONCTL
PYTHON=$(command -v /usr/bin/python3 || command -v python3)
WORK=$(mktemp -d) || exit 2
PID='' URL='' STREAM='' STOPPED='' tests=0 failures=0 planned=0

finish() {
    local status=$?
    trap - EXIT
    if [[ -n $PID ]] && kill -0 "$PID" 2>/dev/null; then
        kill "$PID" 2>/dev/null
        for _ in $(seq 300); do kill -0 "$PID" 2>/dev/null || break; sleep 0.1; done
        kill -KILL "$PID" 2>/dev/null
    fi
    if ((failures)) && [[ -s $WORK/log ]]; then
        echo "# the daemon's log, its last lines:"
        tail -n 40 "$WORK/log" | sed 's/^/# /'
    fi
    rm -rf "$WORK"
    ((failures)) && status=1
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

plan() { planned=$1; echo "1..$1"; }
skip_all() { echo "1..0 # SKIP $*"; exit 0; }

check() { # name command...
    local name=$1
    shift
    tests=$((tests + 1))
    if "$@"; then
        echo "ok $tests - $name"
    else
        failures=$((failures + 1))
        echo "not ok $tests - $name"
        echo "# failed: $*"
    fi
}

bound() { # name command...
    local name=$1
    if ((BOUNDS)); then
        check "$@"
    else
        shift
        echo "# $name: $("$@" && echo yes || echo no)"
    fi
}

eventually() { # command...
    for _ in $(seq 600); do
        "$@" && return
        sleep 0.1
    done
    return 1
}

need_models() {
    local f
    for f in "$MODELS"/*.onnx; do [[ -e $f ]] && return; done
    skip_all "no networks in $MODELS"
}

need_sequence() { [[ -d $SEQ/frames ]] || skip_all "no sequence in $SEQ"; }

start_recond() {
    rm -f "$WORK/address"
    "$O/recond" --models.path="$MODELS" --http.port=0 --stream.port=0 --log.format=text \
        --service.address_file="$WORK/address" "$@" >>"$WORK/log" 2>&1 &
    PID=$!
    for _ in $(seq 600); do
        grep -q '^stream=' "$WORK/address" 2>/dev/null && break
        kill -0 "$PID" 2>/dev/null || break
        sleep 0.1
    done
    URL=$(sed -n 's/^http=//p' "$WORK/address" 2>/dev/null)
    STREAM=$(sed -n 's/^stream=//p' "$WORK/address" 2>/dev/null)
    if [[ -z $URL ]]; then
        echo "Bail out! recond does not start"
        sed 's/^/# /' "$WORK/log"
        exit 1
    fi
}

stop_recond() {
    kill -TERM "$PID" 2>/dev/null
    wait "$PID"
    STOPPED=$?
    PID=''
}

ctl() { "$O/reconctl" "$@" --url "$URL" --json; }
recond_eval() { "$PYTHON" "$TREE/tests/eval/recond-eval" "$@"; }
ctl_exec() { exec "$O/reconctl" "$@" --url "$URL" --json; } # for `&`: then $! is reconctl itself

field() { # key file
    "$PYTHON" - "$1" "$2" <<'PY'
import json, sys
for line in reversed(open(sys.argv[2]).read().splitlines()):
    try:
        value = json.loads(line)
        for key in sys.argv[1].split('.'):
            value = value[key]
    except (ValueError, KeyError, TypeError):
        continue
    print(str(value).lower() if isinstance(value, bool) else value)
    break
PY
}

# Points of a binary PLY as one sum that does not depend on their order.
ply_sum() {
    "$PYTHON" - "$1" <<'PY'
import hashlib, sys
head, body = open(sys.argv[1], 'rb').read().split(b'end_header\n', 1)
sizes = {'float': 4, 'uchar': 1}
record = sum(sizes[line.split()[1]] for line in head.decode().split('\n') if line.startswith('property'))
assert body and len(body) % record == 0
print(hashlib.sha256(b''.join(sorted(body[i:i + record] for i in range(0, len(body), record)))).hexdigest())
PY
}
ply_points() { LC_ALL=C sed -n '/^element vertex /{s///p;q}' "$1"; }
rss_kb() { sed -n 's/^VmHWM:[ \t]*\([0-9]*\) kB/\1/p' "/proc/$PID/status"; }
frames_come() { # a session is being fed
    ctl session list 2>/dev/null | "$PYTHON" -c 'import json, sys
sys.exit(not any(s["state"] == "streaming" and s["counts"]["received"] for s in json.load(sys.stdin)["sessions"]))' 2>/dev/null
}
near() { echo "# $1, $2 within 2 %" && (($1 * 100 > $2 * 98 && $1 * 100 < $2 * 102)); }
at_least() { "$PYTHON" -c 'import sys; sys.exit(not float(sys.argv[1]) >= float(sys.argv[2]))' "$1" "$2"; }
