#include "api/server/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct web_file *page_file(const char *path)
{
    int low = 0, high = n_web_files - 1;

    if (strcmp(path, "/") == 0)
        path = "/index.html";
    while (low <= high) {
        int middle = low + (high - low) / 2;
        int order = strcmp(path, web_files[middle].path);

        if (order == 0)
            return &web_files[middle];
        if (order < 0)
            high = middle - 1;
        else
            low = middle + 1;
    }
    return NULL;
}

bool page_takes_gzip(const char *accept_encoding)
{
    const char *p = accept_encoding ? accept_encoding : "";

    while (*p) {
        size_t n, name;

        p += strspn(p, ", \t");
        n = strcspn(p, ",");
        name = strcspn(p, "; \t,");
        if ((name == 4 && strncasecmp(p, "gzip", 4) == 0) || (name == 1 && *p == '*')) {
            char rest[32];
            const char *q;

            snprintf(rest, sizeof rest, "%.*s", (int)(n - name), p + name);
            q = strstr(rest, "q=");
            return !q || strtod(q + 2, NULL) > 0;
        }
        p += n;
    }
    return false;
}
