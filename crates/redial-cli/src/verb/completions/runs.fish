
# Names of runs, and keys of their dead letters: the program reads them from the store. fish quotes them.
function __fish_redial_runs
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    # A quote that is still open is closed, to read what is in it.
    set -l word (string unescape -- $typed 2>/dev/null
        or string unescape -- $typed\' 2>/dev/null
        or string unescape -- $typed\" 2>/dev/null)
    command $words[1] completions fish -- $words "$word" 2>/dev/null
end

complete -c redial -n "__fish_redial_using_subcommand flow; and __fish_seen_subcommand_from resume cancel status report remove dead" -f -a "(__fish_redial_runs)"
complete -c redial -n "__fish_redial_using_subcommand flow; and __fish_seen_subcommand_from run" -l run -x -a "(__fish_redial_runs)"
complete -c redial -n "__fish_redial_using_subcommand map" -l run -x -a "(__fish_redial_runs)"
