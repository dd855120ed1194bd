# rules.sh - the rules of `make lint`, one function each, sourced by run and selftest
#
# A rule looks at the tree in the current folder and prints one line "file:line: what" per finding; it has
# passed when it printed nothing. Status 77 means that it could not look; its last line says why.
#
# shellcheck shell=bash

HOUSE="daemon api gpu proto"

# C and CUDA sources below folders, the training code (PyTorch, C++) left out
sources() { # "folders" suffixes...
    local folders=$1 names=() s
    shift
    for s in "$@"; do names+=(-o -name "*.$s"); done
    # shellcheck disable=SC2086
    find $folders -path gpu/train -prune -o -type f \( "${names[@]:1}" \) -print 2>/dev/null | LC_ALL=C sort
}

# every text file that is ours: folders of the top level, the build, the top page
texts() {
    # shellcheck disable=SC2086
    find .ci Makefile README.md $HOUSE deploy docs tests -name __pycache__ -prune -o \
        -path tests/lint -prune -o -path tests/fuzz/corpus -prune -o -type f -print 2>/dev/null |
        LC_ALL=C sort
}

scripts() {
    find .ci deploy tests -path tests/fuzz/corpus -prune -o -type f -print 2>/dev/null | LC_ALL=C sort |
        xargs -r awk 'FNR == 1 && (FILENAME ~ /[.]sh$/ || /^#!.*[\/ ](ba|da)?sh( |$)/) { print FILENAME } { nextfile }'
}

# What is left of all sources without comments and the contents of strings, below $LINT_TMP/code under their own names.
# A program for each rule and file would take minutes: rules pass over all files at once, and files are stripped once.
strip() {
    local code=$LINT_TMP/code
    rm -rf "$code"
    mkdir -p "$code"
    sources "$HOUSE tests" c h cu cuh >"$code.list"
    (cd "$code" && sed 's|/[^/]*$||' "$code.list" | sort -u | xargs -r mkdir -p && xargs -r touch <"$code.list")
    xargs -r awk -v into="$code" -f "$LINT_HOME/strip.awk" <"$code.list"
}

# over "folders" "suffixes" COMMAND...: runs it with the names of all such sources, stripped
over() {
    local folders=$1 suffixes=$2
    shift 2
    # shellcheck disable=SC2086
    sources "$folders" $suffixes | (cd "$LINT_TMP/code" && xargs -r "$@")
}

# match "folders" "suffixes" PATTERN WHAT: findings of an extended regular expression in code
match() {
    over "$1" "$2" grep -nHE "$3" | sed -E "s|^([^:]*:[0-9]*):.*|\1: $4|"
}

# ---------------------------------------------------------------- who may include whom
rule_arrows() {
    over "$HOUSE" "c h cu cuh" awk -v tree="$PWD/" '
            function bad(what) { print FILENAME ":" FNR ": " what }
            function is_missing(name) {
                if (!(name in missing)) missing[name] = system("test -e " tree name)
                return missing[name]
            }
            /^[ \t]*#[ \t]*include[ \t]*"/ {
                split($0, part, "\"")
                to = part[2]
                from = substr(FILENAME, 1, index(FILENAME, "/") - 1)
                folder = index(to, "/") ? substr(to, 1, index(to, "/") - 1) : ""
                if (to == "onnx/onnx.pb-c.h") next
                if (folder !~ /^(daemon|api|gpu|proto)$/) { bad("\"" to "\" is not named from the top folder"); next }
                if (is_missing(to)) bad("\"" to "\" does not exist")
                if (from == folder || from == "daemon") next
                if (from == "gpu" && folder == "proto") {
                    if (to !~ /^proto\/(err|types|array|bytes|section|lock)[.]h$|^proto\/geom\//)
                        bad("gpu may use only err.h, types.h, array.h, bytes.h, section.h, lock.h and geom of proto, not " to)
                    next
                }
                if (from == "api" && folder == "proto") next
                bad(from " may not include " to)
            }'
}

# header (awk regular expression), files that may include it; third-party code stays behind one door each
FENCES='
^microhttpd[.]h$                    ^api/server/http[.]c$
^libwebsockets[.]h$                 ^api/client/client_ws[.]c$
^jansson[.]h$                       ^proto/json[.]c$
^(turbojpeg|jpeglib|jerror)[.]h$    ^proto/image/jpeg[.]c$
^png[.]h$                           ^proto/image/png[.]c$
^(zlib|zstd)[.]h$                   ^proto/wire/codec[.]c$
^systemd/sd-daemon[.]h$             ^daemon/notify[.]c$
^systemd/sd-journal[.]h$            ^daemon/log[.]c$
^ini[.]h$                           ^daemon/ini[.]c$
^openssl/                           ^api/(token|server/tls|server/ws_request|client/client_ws)[.]c$
^gnutls/                            ^api/server/tls_gnutls[.]c$
^curl/                              ^api/client/client[.]c$
^(oneapi/dnnl/)?dnnl[a-z_]*[.]h$    ^gpu/net/net_dnnl[a-z_]*[.][ch]$
^(protobuf-c/|onnx/)                ^gpu/net/net_onnx[a-z_]*[.][ch]$
^(cuda|cudnn|cub/|nvjpeg|cooperative_groups)    ^gpu/.*cuda.*$
'
# what needs no fence: the C library, POSIX and Linux
OPEN_HEADERS='^(assert|complex|ctype|errno|fenv|float|inttypes|iso646|limits|locale|math|setjmp|signal|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|tgmath|threads|time|uchar|wchar|wctype|cpio|dirent|dlfcn|endian|fcntl|fnmatch|ftw|getopt|glob|grp|ifaddrs|iconv|langinfo|libgen|malloc|netdb|poll|pthread|pwd|regex|sched|search|semaphore|spawn|syslog|termios|unistd|utime|wordexp|arpa/inet|net/if|netinet/in|netinet/tcp|sys/[a-z]+|linux/[a-z_]+|immintrin|arm_neon)[.]h$'
rule_fences() {
    FENCES=$FENCES OPEN_HEADERS=$OPEN_HEADERS over "$HOUSE" "c h cu cuh" awk '
            BEGIN { n = split(ENVIRON["FENCES"], row, "\n") }
            /^[ \t]*#[ \t]*include[ \t]*[<"]/ {
                to = $0
                sub(/^[ \t]*#[ \t]*include[ \t]*[<"]/, "", to)
                sub(/[>"].*/, "", to)
                if ($0 ~ /"/ && to !~ /^onnx\//) next
                if (to ~ ENVIRON["OPEN_HEADERS"]) next
                known = 0
                for (i = 1; i <= n; i++) {
                    if (split(row[i], cell, /[ \t]+/) < 2 || to !~ cell[1]) continue
                    known = 1
                    if (FILENAME !~ cell[2]) print FILENAME ":" FNR ": <" to "> belongs to " cell[2] " alone"
                }
                if (!known) print FILENAME ":" FNR ": <" to "> has no fence in tests/lint/rules.sh"
            }'
}

# room, the other rooms (or single headers) of its folder that it may include. A folder's own files (api/api.h, proto/err.h) are the
# room that bears its name. A room that is not listed here is not looked at.
ROOMS='
api/server      api
api/client      api/file.h
api/ctl         api api/client
proto
proto/geom      proto
proto/image     proto
proto/wire      proto proto/geom proto/cloud
proto/cloud     proto proto/geom proto/wire
gpu/base        gpu gpu/net
gpu/net         gpu/base
gpu/mono        gpu gpu/base gpu/net gpu/track gpu/views
gpu/views       gpu gpu/base
gpu/depth       gpu gpu/base gpu/net gpu/mono
gpu/track       gpu gpu/base
gpu/panorama    gpu gpu/base gpu/mono
gpu/recognise   gpu gpu/base gpu/tie/small.h
daemon/session  daemon/clock.h daemon/config.h daemon/metrics.h daemon/models.h
daemon/disk     daemon/session daemon/clock.h daemon/config.h daemon/log.h daemon/log_events.h daemon/metrics.h daemon/turn.h
daemon/work     daemon/session daemon/disk daemon/clock.h daemon/config.h daemon/log.h daemon/metrics.h daemon/models.h daemon/objects.h daemon/turn.h
'
rule_rooms() {
    ROOMS=$ROOMS over "$HOUSE" "c h cu cuh" awk '
            function room(path) { sub(/\/[^\/]*$/, "", path); return path }
            BEGIN { n = split(ENVIRON["ROOMS"], row, "\n") }
            FNR == 1 {
                own = room(FILENAME)
                listed = 0
                split("", allowed)
                for (i = 1; i <= n; i++) {
                    cells = split(row[i], cell, /[ \t]+/)
                    if (cells && cell[1] == own) listed = 1
                    for (j = 1; j <= cells; j++) if (cell[1] == own) allowed[cell[j]] = 1
                }
            }
            listed && /^[ \t]*#[ \t]*include[ \t]*"/ {
                split($0, part, "\"")
                to = room(part[2])
                top = own; sub(/\/.*/, "", top)
                if (to !~ "^" top "(/|$)" || to in allowed || part[2] in allowed) next
                print FILENAME ":" FNR ": " own " may not include " part[2] " (the table ROOMS in tests/lint/rules.sh)"
            }'
}

# Modules that need each other in a circle cannot be understood or tested one after the other.
rule_circles() {
    local folders=()
    read -ra folders <<<"$HOUSE"
    "${PYTHON:-python3}" "$LINT_HOME/circles.py" "${folders[@]}"
}

# What the files of one room call of each other, too, but for the circles through these files.
CIRCLES="daemon/disk/journal_segment.c gpu/net/net_dnnl_plan.c proto/cloud/cloud_block.c proto/geom/calibrate.c"
shape() { # see shape.py
    (cd "$LINT_TMP/code" && PYTHONDONTWRITEBYTECODE=1 "${PYTHON:-python3}" "$LINT_HOME/shape.py" "$@")
}
rule_calls() {
    # shellcheck disable=SC2086
    shape calls $CIRCLES
}

# A static function carries its object: a reader who greps for a name finds few others.
CLASHES=14
rule_clashes() { shape clashes "$CLASHES"; }

# A header is a manual; these are longer than one should be.
DECLARATIONS="daemon/disk/store.h=41 gpu/net/net_graph.h=61 proto/json.h=38"
rule_declarations() {
    # shellcheck disable=SC2086
    shape declarations 30 $DECLARATIONS
}

# Headers of the CUDA back end can be compiled only where CUDA's own headers are.
header_has_cuda() {
    [[ $1 != *cuda* ]] || [[ ${LINT_CFLAGS:-} == *cuda* ]]
}

# ---------------------------------------------------------------- foo.c exports foo_verb() only
# file, further prefix (awk regular expression), reason; docs/TESTING.md repeats none of it
SYMBOLS='
daemon/main.c     main$             the process
api/ctl/reconctl_main.c main$             the process
'
# A file may also use the stem of the module that it is a part of: cloud_sort.c the one of cloud.h, and a twin
# (x_cpu.c, x_cuda.c) the one of its stage.
rule_symbols() {
    local f
    for f in $(sources "$HOUSE" c); do
        [[ ! -e $O/$f.o ]] || echo "$O/$f.o" # else not part of this build (ops_none.c beside CUDA)
    done | xargs -r nm -A -g --defined-only | SYMBOLS=$SYMBOLS awk -v objects="$O/" '
            function is_there(name) {
                if (!(name in there)) there[name] = system("test -e " name) == 0
                return there[name]
            }
            BEGIN { rows = split(ENVIRON["SYMBOLS"], row, "\n") }
            {
                name = $0
                sub(/[.]o:.*/, "", name)
                name = substr(name, length(objects) + 1)
            }
            name != file {
                file = stem = folder = name
                sub(/.*\//, "", stem); sub(/[.]c$/, "", stem)
                sub(/\/[^\/]*$/, "", folder)
                allowed = "^(" stem
                if (file ~ /^gpu\/.*\/line_[a-z]+[.]c$/) allowed = allowed "|gpu_" stem
                twin = stem
                if (sub(/_(cpu|cuda|none)$/, "", twin)) allowed = allowed "|" twin
                module = stem
                while (sub(/_[^_]*$/, "", module))
                    if (is_there(folder "/" module ".h")) allowed = allowed "|" module
                allowed = allowed ")(_|$)"
                for (i = 1; i <= rows; i++)
                    if (split(row[i], cell, /[ \t]+/) > 2 && cell[1] == file) allowed = allowed "|^" cell[2]
            }
            $3 !~ /^__/ && $3 !~ allowed { print file ":1: exports " $3 ", which does not begin with " stem "_" }'
}

# ---------------------------------------------------------------- headers stand alone
rule_headers_c() {
    local h out=$LINT_TMP/headers_c
    for h in $(sources "$HOUSE tests/support" h); do
        header_has_cuda "$h" || continue
        # shellcheck disable=SC2086
        printf '#include "%s"\n#include "%s"\n' "$h" "$h" |
            ${CC:-gcc} ${LINT_CFLAGS:--I.} -std=c11 -Wall -Wextra -Werror -Wno-unused-function \
                -fsyntax-only -x c - >"$out" 2>&1 ||
            echo "$h:1: does not compile by itself as C11: $(grep -m 1 -E 'error' "$out")"
    done
}

# What nvcc reads has to be C++ as well.
rule_headers_cxx() {
    local h out=$LINT_TMP/headers_cxx
    command -v g++ >/dev/null || { echo "g++ is not installed"; return 77; }
    for h in proto/err.h proto/types.h proto/array.h $(sources "gpu proto/geom" h); do
        [[ -e $h ]] || continue
        header_has_cuda "$h" || continue
        # shellcheck disable=SC2086
        printf '#include "%s"\n' "$h" |
            g++ ${LINT_CFLAGS:--I.} -std=c++17 -Wall -Wextra -Werror -Wno-unused-function -fsyntax-only -x c++ - \
                >"$out" 2>&1 ||
            echo "$h:1: does not compile as C++17: $(grep -m 1 -E 'error' "$out")"
    done
}

# ---------------------------------------------------------------- habits
rule_exit() {
    match "$HOUSE" "c h cu cuh" '(^|[^A-Za-z0-9_.>])(_?exit|_Exit|quick_exit|abort)[ ]*\(' 'ends the process outside a main file' |
        grep -vE '^(daemon/main|api/ctl/reconctl_main|proto/checked)\.c:'
}

# Every call of the CUDA run-time is checked or thrown away on purpose: inside CU_TRY(...) or
# cuda_try_check(...), cast to void, assigned or compared.
rule_cuda_checked() {
    over gpu "c h cu cuh" awk '
            FNR == 1 { before = "" }
            FILENAME == "gpu/base/cuda_try.h" { next } # the check itself
            { text = before $0; before = "" }
            /(CU_TRY|cuda_try_check)\($/ { before = $0 }
            text ~ /(^|[^A-Za-z0-9_])(cuda|cudnn|cublas)[A-Z][A-Za-z0-9]*[ ]*\(/ &&
            text !~ /CU_TRY[ ]*\(|cuda_try_check[ ]*\(|\(void\)|=|return/ {
                print FILENAME ":" FNR ": a CUDA call that is not checked"
            }'
}

# A launch names grid, block, shared bytes and stream, and the function that it stands in asks about it.
rule_cuda_launch() {
    over gpu "cu cuh" awk '
            function end() { if (open) print file ":" open ": a launch that is not checked"; open = 0 }
            FNR == 1 { end(); collecting = 0; file = FILENAME }
            open && /cuda_try_launch/ { open = 0 }
            /^}/ { end() }
            collecting { text = text $0 }
            !collecting && /<<</ { end(); text = $0; collecting = 1; open = FNR }
            collecting && text ~ />>>/ {
                collecting = 0
                sub(/.*<<</, "", text); sub(/>>>.*/, "", text)
                while (gsub(/\([^()]*\)/, "", text)) ;
                if (gsub(/,/, ",", text) != 3) print file ":" open ": a launch without a named stream"
            }
            END { end() }'
    match gpu "cu cuh" 'cudaDeviceSynchronize|cudaStreamLegacy|cudaStreamPerThread' 'waits for the device or uses a default stream'
}

# A block of more than 256 threads may ask for more registers than a multiprocessor has, and is then launched nowhere:
# no build and no emulation sees that, unless the compiler knows the number.
rule_cuda_bounds() {
    over gpu "cu cuh" awk '
            function end(name) {
                for (name in line) if (index(text, "__launch_bounds__(" name ")") == 0)
                    print file ":" line[name] ": no kernel has __launch_bounds__(" name ")"
                split("", line)
                text = ""
            }
            FNR == 1 { end(); file = FILENAME }
            /^#define [A-Z_]+ [0-9]+/ && /THREADS|BLOCK/ && $3 + 0 > 256 { line[$2] = FNR }
            { text = text $0 "\n" }
            END { end() }'
}

rule_ifdef() {
    match "$HOUSE" "c cu" '^[ 	]*#[ 	]*(if|ifdef|ifndef|elif)([^a-z]|$)' 'conditional code: the Makefile picks files'
}

rule_macro_return() {
    over "$HOUSE" "c h cu cuh" awk '
            FNR == 1 { macro = 0 }
            /^[ \t]*#[ \t]*define/ { macro = 1 }
            macro && /(^|[^A-Za-z0-9_])return([^A-Za-z0-9_]|$)/ { print FILENAME ":" FNR ": return inside a macro" }
            !/\\$/ { macro = 0 }'
}

# ---------------------------------------------------------------- lengths
rule_file_length() {
    sources "$HOUSE tests" c h cu cuh | xargs -r awk '
        function end() { if (n > 600) print file ":601: " n " lines, 600 are allowed" }
        FNR == 1 { end(); file = FILENAME }
        { n = FNR }
        END { end() }'
}

# A function's body stands between braces in the first column: clang-format sees to that.
rule_function_length() {
    over "$HOUSE tests" "c h cu cuh" awk '
            FNR == 1 { start = 0 }
            /^{[ \t]*$/ { start = FNR }
            /^}/ && start {
                if (FNR - start + 1 > 60)
                    print FILENAME ":" start ": function of " FNR - start + 1 " lines, 60 are allowed"
                start = 0
            }'
}

rule_line_length() { # characters, not bytes
    sources "$HOUSE tests" c h cu cuh | LC_ALL=C.UTF-8 xargs -r grep -nHE '^.{101}' |
        sed -E 's/^([^:]*:[0-9]*):.*/\1: longer than the 100 columns that are allowed/'
}

rule_format() {
    command -v clang-format >/dev/null || { echo "clang-format is not installed"; return 77; }
    sources "$HOUSE tests" c h cu cuh | xargs -r clang-format --dry-run -Werror 2>&1 |
        sed -nE 's/^([^: ]+:[0-9]+):[0-9]+: error:.*/\1: not as clang-format writes it/p' | sort -u
}

# ---------------------------------------------------------------- text
rule_words() {
    texts | xargs -r grep -InEwi 'TODO|FIXME|XXX|HACK|not implemented|placeholder|for now|stub|stubbed' /dev/null |
        sed -E 's/^([^:]+:[0-9]+):.*/\1: a word that marks unfinished work/'
}

# A comment names its subject: a thread, a session, a file, never "someone". Scripts are held to it as well.
RIDDLES='who|whoever|whom|nobody|somebody|anybody|everybody|someone|anyone|everyone'
rule_riddles() {
    {
        sources "$HOUSE tests" c h cu cuh | xargs -r awk -v comments=1 -f "$LINT_HOME/strip.awk" | grep -Eiw "$RIDDLES"
        { scripts | grep -v '^tests/lint/'; echo Makefile; } |
            xargs -r grep -nHEiw "^[[:space:]]*#.*[^[:alnum:]_]($RIDDLES)"
    } | sed -E 's|^([^:]*:[0-9]+):.*|\1: a comment that does not name its subject|'
}

rule_layout() {
    local f
    for f in *; do
        case $f in
        Makefile | daemon | api | gpu | proto | deploy | tests | docs | README.md | LICENSE) ;;
        *) git check-ignore -q "$f" 2>/dev/null || echo "$f:1: the top level is fixed" ;;
        esac
    done
    for f in tests/unit/*.c tests/twin/*.c tests/fault/*.c tests/fuzz/fuzz_*.c; do
        [[ -e $f ]] || continue
        case ${f##*/} in
        proto_* | gpu_* | client_* | api_* | daemon_*) ;;
        fuzz_proto_* | fuzz_gpu_* | fuzz_client_* | fuzz_api_* | fuzz_daemon_*) ;;
        *) echo "$f:1: begins with no folder's name, so the Makefile cannot link it" ;;
        esac
    done
    for f in tests/e2e/[0-9]* $(scripts); do
        [[ $f == *.sh ]] && continue # a part that others source
        [[ ! -e $f || -x $f ]] || echo "$f:1: not executable"
    done
}

rule_shell() {
    command -v shellcheck >/dev/null || { echo "shellcheck is not installed"; return 77; }
    # SC1091: a file that is found at run time; SC2016: single quotes are meant; SC2119: arguments are optional
    scripts | xargs -r shellcheck -x --source-path=SCRIPTDIR -e SC1091,SC2016,SC2119 -f gcc 2>&1 | sed -E 's/^([^:]+:[0-9]+):[0-9]+:/\1:/'
}

rule_python() {
    find api gpu tests deploy -name '*.py' 2>/dev/null | LC_ALL=C sort | xargs -r "${PYTHON:-python3}" -c '
import sys
for name in sys.argv[1:]:
    try:
        compile(open(name).read(), name, "exec")
    except SyntaxError as error:
        print(f"{name}:{error.lineno}: {error.msg}")'
}

rule_man() {
    local f
    command -v mandoc >/dev/null || { echo "mandoc is not installed"; return 77; }
    for f in docs/*.[158]; do
        [[ -e $f ]] || continue
        mandoc -T lint -W warning "$f" 2>&1 | sed -E 's/^mandoc: ([^:]+:[0-9]+):[0-9]+:/\1:/'
    done
}

# Links, anchors, sections, paths and equations that pages and comments name are there; docs/API.md is what the contract says.
rule_pages() {
    "${PYTHON:-python3}" "$LINT_HOME/pages.py"
}

# Metrics in the program and in docs/OPERATIONS.md are the same.
rule_metrics() {
    local page=docs/OPERATIONS.md name place
    [[ -e $page ]] || return 0
    grep -rnoE '"(# (HELP|TYPE) )?recond_[a-z_]+' daemon api --include='*.c' 2>/dev/null |
        sed -E 's/^([^:]*:[0-9]+):"(# (HELP|TYPE) )?/\1 /' | sort -u -k 2,2 | while read -r place name; do
        grep -q "\`${name}[\`{]" "$page" || echo "$place: $name is not in $page"
    done
    # shellcheck disable=SC2016
    grep -noE '`recond_[a-z_]+[`{]' "$page" | while IFS=: read -r place name; do
        name=${name//[\`\{]/}
        grep -rqE "[\" ]${name}[\"{ ]" daemon api --include='*.c' || echo "$page:$place: no metric $name in the program"
    done
}

# Events of the program, of the message catalog and of docs/OPERATIONS.md are the same, and each is logged somewhere.
rule_events() {
    local header=daemon/log_events.h catalog=deploy/recond.catalog page=docs/OPERATIONS.md line name id seen=' '
    [[ -e $header ]] || return 0
    while IFS=: read -r line name id; do
        [[ $id =~ ^[0-9a-f]{32}$ ]] || { echo "$header:$line: $name is not 32 hexadecimal digits"; continue; }
        [[ $seen != *" $id "* ]] || echo "$header:$line: $name has the identifier of another event"
        seen+="$id "
        grep -qx -- "-- $id" "$catalog" || echo "$header:$line: $name is not in $catalog"
        grep -q "\`$id\`" "$page" || echo "$header:$line: $name is not in $page"
        grep -rqw "$name" daemon api --include='*.c' || echo "$header:$line: $name is not logged"
    done < <(awk '/^#define LOG_EVENT_/ { gsub("\"", "", $3); print NR ":" $2 ":" $3 }' "$header")
    while IFS=: read -r line id; do
        grep -q "\"${id#-- }\"" "$header" || echo "$catalog:$line: no event ${id#-- } in $header"
        sed -n "$((line + 1))p" "$catalog" | grep -q '^Subject: .' || echo "$catalog:$line: no Subject"
    done < <(grep -n '^-- ' "$catalog")
    while IFS=: read -r line id; do
        grep -q "\"${id//\`/}\"" "$header" || echo "$page:$line: no event ${id//\`/} in $header"
    done < <(grep -noE '`[0-9a-f]{32}`' "$page")
}

# The tables of docs/ARCHITECTURE.md that the code has as well: a frame's states, and which lock is taken under which.
rule_tables() {
    local page=docs/ARCHITECTURE.md
    [[ -e $page ]] || return 0
    tables_differ daemon/session/frame_state.h 's/^.* X\((\w+), (\w+), (\w+), "(.*)"\).*/\1 \2 \3 \4/p' \
        's/^\| `([A-Z_]+)` \| `([A-Z_]+)` \| `([A-Z_]+)` \| (.*) \|$/\1 \2 \3 \4/p'
    tables_differ proto/lock.h 's/^.* X\((\w+), (\w+)\).*/\1 \2/p' \
        's/^\| `([A-Z_]+)` \| `?([A-Z_]+|none)`? \| [^`|]*( `[^|]*)? \|$/\1 \2/; s/ none$/ NONE/; /^[A-Z_]+ [A-Z_]+$/p'
}
tables_differ() { # header, row of the header, row of the page
    [[ -e $1 ]] || return 0
    diff <(sed -nE "$2" "$1") <(sed -nE "$3" "$page") | sed -nE "s|^< |$1:1: not in $page: |p; s|^> |$page:1: not in $1: |p"
}

# A mutex has a name and a place in the order of proto/lock.h.
rule_locks() {
    match "$HOUSE" "c h cu cuh" 'pthread_mutex_|PTHREAD_MUTEX' 'a mutex without a name: proto/lock.h has them' | grep -v '^proto/lock.h:'
}

# Figures of pages are those of committed results, and pages that are held to it have no others.
rule_figures() {
    "${PYTHON:-python3}" "$LINT_HOME/../bench/pages.py" --check
}

# shellcheck disable=SC2034
RULES="arrows fences rooms circles calls clashes declarations symbols headers_c headers_cxx exit cuda_checked cuda_launch cuda_bounds ifdef macro_return file_length function_length
       line_length format words riddles layout shell python man pages metrics events figures tables locks"
