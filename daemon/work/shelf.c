#include "daemon/work/shelf.h"

int shelf_get(struct shelf *s, const struct gpu_model_info *info, struct gpu_model **model,
              struct err *err)
{
    struct gpu_model **place = &s->open[models_index(s->models, info)];
    int rc = *place ? 0 : gpu_model_open(place, s->gpu, info, err);

    *model = rc ? NULL : *place;
    return rc;
}

void shelf_close(struct shelf *s)
{
    for (int i = 0; i < MODELS_MAX; i++)
        if (s->open[i])
            gpu_model_close(&s->open[i]);
}
