# strip.awk - C source with comments, string contents and character constants blanked, line by line
# (`#include "..."` lines keep their names, so that the include rules can use the same text)
# With -v comments=1 it is the other way round: the text of comments alone, each line behind "file:line:".
# With -v into=FOLDER what is left of each file is written below that folder, under the file's own name.
FNR == 1 {
    block = 0
    if (into) { close(to); to = into "/" FILENAME }
}
{
    out = said = ""
    include = !block && $0 ~ /^[ \t]*#[ \t]*include/
    n = length($0)
    i = 1
    while (i <= n) {
        two = substr($0, i, 2)
        c = substr($0, i, 1)
        if (block) {
            if (two == "*/") { block = 0; i += 2; said = said " " } else { said = said c; i++ }
        } else if (two == "/*") {
            block = 1; i += 2; out = out " "
        } else if (two == "//" && !include) {
            said = said substr($0, i + 2)
            break
        } else if ((c == "\"" || c == "'") && !include) {
            out = out c
            i++
            while (i <= n && substr($0, i, 1) != c) i += substr($0, i, 1) == "\\" ? 2 : 1
            i++
            out = out c
        } else {
            out = out c; i++
        }
    }
    if (comments) print FILENAME ":" FNR ":" said
    else if (into) print out >to
    else print out
}
