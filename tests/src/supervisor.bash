# Keeps one program, and removes its folder in the end, whatever ends first: the program, or who asked for it.
#
#   bash -c "$(cat supervisor.bash)" supervisor FOLDER SIGNAL [PROGRAM ARGUMENTS...]
#
# Commands come on stdin, a line each, and each is answered by one line:
#   start         runs the program in a process group of its own   -> started
#   status        asks whether it still runs                       -> running | ended
#   stop SIGNAL   ends it, and whatever it started                 -> stopped
# The end of stdin also comes when the asking process was killed by SIGKILL. It stops the program with SIGNAL.
# (A parent-death signal would not do: it follows the thread that started the program, and test threads come and go.)

folder=$1 last_signal=$2
shift 2
leader=
set -m         # A process group for each background job.
trap : PIPE    # An answer nobody reads must not keep us from cleaning up.

running() { [[ -n $leader ]] && kill -0 "$leader" 2>/dev/null; }

stop() {
    [[ -n $leader ]] || return 0
    if [[ $1 != KILL ]]; then
        kill -s "$1" -- "-$leader"
        for ((ticks = 0; ticks < 200; ticks++)); do
            running || break
            sleep 0.05
        done
    fi
    kill -s KILL -- "-$leader"
    wait "$leader"
    leader=
}

while read -r order argument; do
    case $order in
        start)
            "$@" </dev/null >>"$folder/output" 2>&1 &
            leader=$!
            echo started
            ;;
        status) if running; then echo running; else echo ended; fi ;;
        stop)
            stop "$argument"
            echo stopped
            ;;
    esac
done

stop "$last_signal"
rm -rf -- "$folder"
