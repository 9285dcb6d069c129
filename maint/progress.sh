# shellcheck shell=bash
# Long commands with visible progress.  Sourced by run and maint/build.
#
# The caller sets LOG (a file; everything that a phase prints goes there).  `phase TITLE COMMAND...` runs the command
# and shows elapsed time and what is going on: one line, rewritten, on a terminal; else a line now and then.  If the
# command fails, its last lines, the name of the log and ADVICE (if set) are printed, and `phase` returns its code.

progress_interval_s=30   # between two lines when the output is not a terminal
progress_tail_lines=25   # of the log, after a failure
progress_child=

progress_stop() {
    trap - INT TERM HUP PIPE
    [ -z "$progress_child" ] || kill -TERM -- "-$progress_child" 2>/dev/null
    [ ! -t 1 ] || printf '\r\033[K'
    echo "stopped; the log is $LOG.  The same command continues where this one ended." >&2
    exit 130
}

progress_clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# Of the work since byte offset $1 of the log, which has taken $2 seconds: how much has been compiled, how long the rest
# takes at the same pace, and the last line.
progress_note() {
    local new count last rest=''
    new=$(tail -c "+$(($1 + 1))" "$LOG" 2>/dev/null | tr -d '\000')
    count=$(grep -c -E '^ +(CC|CXX|FC|F77|PPFC|CCLD|CXXLD|GEN) ' <<<"$new")
    last=$(tail -n 1 <<<"$new" | tr '\r\t' '  ' | tr -s ' ')
    if [ "$count" -gt 0 ]; then
        if [ -n "${PROGRESS_TOTAL:-}" ] && [ "$count" -lt "$PROGRESS_TOTAL" ] && [ "$count" -ge 20 ]; then
            rest=", about $(progress_clock $(($2 * (PROGRESS_TOTAL - count) / count))) left"
        fi
        printf '%d done%s%s, %s' "$count" "${PROGRESS_TOTAL:+ of about $PROGRESS_TOTAL}" "$rest" "${last##* }"
    else
        printf '%s' "$last"
    fi
}

phase() {
    local title=$1 start=$SECONDS offset shown=0 elapsed status columns line
    shift
    mkdir -p "$(dirname "$LOG")"
    printf '\n=== %s: %s\n=== %s\n' "$(date '+%F %T')" "$title" "$*" >>"$LOG"
    offset=$(stat -c %s "$LOG")
    trap progress_stop INT TERM HUP PIPE
    set -m
    "$@" >>"$LOG" 2>&1 </dev/null 9>&- &
    progress_child=$!
    set +m
    [ -t 1 ] || echo "[0:00] $title"
    while kill -0 "$progress_child" 2>/dev/null; do
        if [ $((SECONDS - start)) -lt 2 ]; then sleep 0.1; else sleep 1; fi
        elapsed=$((SECONDS - start))
        if [ -t 1 ]; then
            columns=$(tput cols 2>/dev/null || echo 80)
            line="[$(progress_clock $elapsed)] $title: $(progress_note "$offset" "$elapsed")"
            printf '\r\033[K%s' "${line:0:columns-1}"
        elif [ $((elapsed - shown)) -ge $progress_interval_s ]; then
            shown=$elapsed
            line="[$(progress_clock $elapsed)] $title: $(progress_note "$offset" "$elapsed")"
            echo "${line:0:160}"
        fi
    done
    wait "$progress_child"
    status=$?
    progress_child=
    trap - INT TERM HUP PIPE
    [ ! -t 1 ] || printf '\r\033[K'
    if [ $status -eq 0 ]; then
        echo "[$(progress_clock $((SECONDS - start)))] $title: done"
    else
        {
            echo "[$(progress_clock $((SECONDS - start)))] $title: FAILED (exit code $status)"
            tail -c "+$((offset + 1))" "$LOG" | tail -n $progress_tail_lines | sed 's/^/    /'
            echo "The full log is $LOG"
            [ -z "${ADVICE:-}" ] || echo "$ADVICE"
        } >&2
    fi
    return $status
}
