# SPDX-License-Identifier: Apache-2.0
# bash completion of signalboxctl, generated from its command table
_signalboxctl() {
    local words=""
    case "${COMP_WORDS[1]}" in
        drain) words="node" ;;
        log) words="level" ;;
        peer) words="block unblock drop" ;;
        reload) words="--dry-run --allow-reset" ;;
        route) words="explain" ;;
        show) words="peers as associations paths routes bindings workers drops memory rates ports config" ;;
    esac
    [ "$COMP_CWORD" -eq 1 ] && words="doctor drain log peer reload route show version"
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -F _signalboxctl signalboxctl
