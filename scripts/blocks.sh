# Blocks of commands in a document, for scripts that run them as they stand there.
#
#   block FILE HEADING [LANGUAGE]     all blocks of a language, default sh, below a heading `## HEADING`, up to the next one; fails
#                                     where there are none
block() {
    awk -v heading="## $2" -v fence="\`\`\`${3:-sh}" '
        $0 == heading { below = 1; next }
        below && /^## / { exit }
        below && $0 == fence { inside = 1; found = 1; next }
        inside && $0 == "```" { inside = 0 }
        inside { print }
        END { exit !found }' "$1" || { echo "$1 has no ${3:-sh} block below \"$2\"" >&2; return 1; }
}
