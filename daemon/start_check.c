#include "daemon/start_check.h"

#include "daemon/disk/store.h"
#include "daemon/edges.h"
#include "daemon/models.h"
#include "daemon/objects.h"

static int check_models(const struct config *c, struct err *err)
{
    struct models *models;
    int rc = models_open(&models, c->models.path, c->session.options.depth_model,
                         c->session.options.motion_model, err);

    models_close(&models);
    return rc;
}

int start_check(const struct config *config, void (*complain)(const struct err *err))
{
    int (*const checks[])(const struct config *c, struct err *err) = {check_models, store_check,
                                                                      objects_check, edges_check};
    int first = 0;

    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        struct err err = {0};
        int rc = checks[i](config, &err);

        if (rc)
            complain(&err);
        first = first ? first : rc;
    }
    return first;
}
