# strip.awk - C source with comments, string contents and character constants blanked, line by line
# (`#include "..."` lines keep their names, so that the include rules can use the same text)
{
    out = ""
    include = !block && $0 ~ /^[ \t]*#[ \t]*include/
    n = length($0)
    i = 1
    while (i <= n) {
        two = substr($0, i, 2)
        c = substr($0, i, 1)
        if (block) {
            if (two == "*/") { block = 0; i += 2 } else i++
        } else if (two == "/*") {
            block = 1; i += 2; out = out " "
        } else if (two == "//" && !include) {
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
    print out
}
