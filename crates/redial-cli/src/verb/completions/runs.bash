
# Names of runs, and keys of their dead letters: the program reads them from the store, and quotes them.
_redial() {
    _redial_static "$@"
    [[ $COMP_LINE == *flow* || $COMP_LINE == *--run* ]] || return 0
    local word
    local -a found=()
    while IFS= read -r word; do
        found+=("$word")
    done < <("$1" completions bash -- "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
    if [[ ${#found[@]} -gt 0 ]]; then
        COMPREPLY=("${found[@]}")
    fi
    return 0
}
