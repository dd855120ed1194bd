#include "api/ctl/reconctl_eval.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int reconctl_eval_write(const char *path, const char *text, struct err *err)
{
    char part[4096];
    FILE *out;
    int rc = 0;

    if (!path)
        return 0;
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
        return err_set(err, ERR_INPUT, "file name is too long");
    out = fopen(part, "w");
    if (!out)
        return err_at(err, ERR_NOT_FOUND, part, "cannot be written: %m");
    if (fputs(text, out) < 0 || fputc('\n', out) == EOF)
        rc = err_at(err, ERR_NOT_FOUND, part, "cannot be written: %m");
    if (fclose(out) != 0 && rc == 0)
        rc = err_at(err, ERR_NOT_FOUND, part, "cannot be written: %m");
    if (rc == 0 && rename(part, path) != 0)
        rc = err_at(err, ERR_NOT_FOUND, path, "cannot be written: %m");
    if (rc)
        unlink(part);
    return rc;
}

void reconctl_eval_put(struct json_writer *w, const char *key, double v)
{
    json_put_f32(w, key, (float)v);
}
