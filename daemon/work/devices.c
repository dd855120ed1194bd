#include "daemon/work/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int devices_add(struct devices *d, const char *name, bool needed, struct err *err)
{
    for (int i = 0; i < d->n; i++)
        if (strcmp(d->of[i].name, name) == 0) {
            d->of[i].needed |= needed;
            return 0;
        }
    if (d->n == DEVICES_MAX)
        return err_at(err, ERR_LIMIT, "device.use", "names more than %d devices", DEVICES_MAX);
    snprintf(d->of[d->n].name, sizeof(d->of[d->n].name), "%s", name);
    d->of[d->n++].needed = needed;
    return 0;
}

/* Parses a device's number: one to three digits. */
static bool is_number(const char *word)
{
    size_t n = strspn(word, "0123456789");

    return n >= 1 && n <= 3 && word[n] == '\0';
}

static int add_number(struct devices *d, const char *number, struct err *err)
{
    char name[DEVICES_NAME_CAP];

    snprintf(name, sizeof(name), "cuda:%d", atoi(number)); /* cuda:01 is cuda:1 */
    return devices_add(d, name, true, err);
}

static int add_all_cuda(struct devices *d, int n_cuda, struct err *err)
{
    char name[DEVICES_NAME_CAP];
    int rc = 0;

    if (n_cuda == 0)
        return devices_add(d, "cuda", true, err);
    d->all_cuda = true;
    for (int i = 0; i < n_cuda && i < DEVICES_MAX && rc == 0; i++) {
        snprintf(name, sizeof(name), "cuda:%d", i);
        rc = devices_add(d, name, false, err);
    }
    return rc;
}

static int add_word(struct devices *d, const char *word, bool after_number, int n_cuda,
                    struct err *err)
{
    if (after_number && is_number(word))
        return add_number(d, word, err);
    if (strncmp(word, "cuda:", 5) == 0 && is_number(word + 5))
        return add_number(d, word + 5, err);
    if (strcmp(word, "cuda") == 0)
        return add_all_cuda(d, n_cuda, err);
    if (strcmp(word, "auto") == 0)
        d->others = true;
    else if (strcmp(word, "cpu") != 0)
        return err_at(err, ERR_INPUT, "device.use",
                      "'%.40s' is no device: allowed are auto, cpu, cuda, cuda:N", word);
    return devices_add(d, word, true, err);
}

int devices_resolve(struct devices *d, const char *use, int n_cuda, struct err *err)
{
    char words[256], *save = NULL;
    bool after_number = false;
    int rc = 0;

    memset(d, 0, sizeof(*d));
    snprintf(words, sizeof(words), "%s", use);
    for (char *w = strtok_r(words, " ,\t", &save); w && rc == 0;
         w = strtok_r(NULL, " ,\t", &save)) {
        rc = add_word(d, w, after_number, n_cuda, err);
        after_number = strncmp(w, "cuda:", 5) == 0 || (after_number && is_number(w));
    }
    if (rc == 0 && d->n == 0)
        rc = err_at(err, ERR_INPUT, "device.use", "names no device: auto, cpu, cuda, cuda:N");
    if (rc == 0 && d->others && d->n > 1)
        rc = err_at(err, ERR_INPUT, "device.use", "auto chooses by itself, so it stands alone");
    return rc;
}
