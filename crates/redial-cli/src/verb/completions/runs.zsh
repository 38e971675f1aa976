# Names of runs, and keys of their dead letters: the program reads them from the store. compadd quotes them.
_redial() {
    local -a found
    if [[ "$words" == *flow* || "$words" == *--run* ]]; then
        found=("${(@f)$(${~words[1]} completions zsh -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
        found=(${found:#})
        (( $#found )) && compadd -a found && return 0
    fi
    _redial_static "$@"
}
