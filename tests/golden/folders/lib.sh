#!/usr/bin/env bash
# lib.sh - golden journal folders: taken out of their archives, brought back by a recond
#
#   unpack NAME DIR             DIR/journal, DIR/networks, DIR/next/SESSION of an archive; times of the files as packed
#   bring_back DIR [FLAG...]    starts recond over them; DIR/recovered: what it tells of its sessions
#   go_on DIR                   a frame more for each session that takes some; DIR/fed: what it tells afterwards
#   stop DIR                    ends it; DIR/saved: the sections of the checkpoints that are left
#   judge NAME DIR WHEN         is DIR/WHEN (recovered, fed, saved) what NAME/expect.json says?
#
# shellcheck shell=bash source=/dev/null
. "${ROOT:-$(dirname "${BASH_SOURCE[0]}")/../../..}/tests/e2e/lib.sh"
FOLDERS=${FOLDERS:-tests/golden/folders}
feed() { "$PYTHON" "$FOLDERS/feed.py" "$@"; }

unpack() {
    mkdir -p "$2"
    tar -C "$2" -xzf "$FOLDERS/$1/folder.tar.gz"
}

bring_back() {
    local dir=$1
    shift
    MODELS=$dir/networks start_recond --device.use=cpu --journal.path="$dir/journal" --journal.checkpoint_frames=0 "$@"
    feed tell "$URL" "$dir/journal" >"$dir/recovered"
}

go_on() {
    local file status=0
    for file in "$1"/next/*; do feed next "$URL" "${file##*/}" "$file" || status=1; done
    feed tell "$URL" "$1/journal" >"$1/fed"
    return "$status"
}

stop() {
    stop_recond
    feed sections "$1/journal" >"$1/saved"
}

judge() { feed judge "$FOLDERS/$1/expect.json" "$3" "$2/$3"; }
