#include "gpu/recognise/hypothesis_pose.h"

#include <stdlib.h>

struct hypothesis_params hypothesis_params_default(void)
{
    struct hypothesis_params p;

    params_fill(&p, &recognise_params_hypothesis, NULL, NULL);
    return p;
}

struct hypothesis_room hypothesis_room(const struct library *l, uint32_t tensors,
                                       const struct hypothesis_params *p)
{
    return (struct hypothesis_room){(size_t)tensors * l->n_objects, (size_t)p->tries * l->n_objects,
                                    (size_t)l->most_points + 1};
}

int hypothesis_new(struct hypotheses *q, const struct surface *s, uint32_t tensors,
                   const struct library *l, const struct hypothesis_params *p, struct err *err)
{
    struct hypothesis_room room = hypothesis_room(l, tensors, p);

    *q = (struct hypotheses){.tensors = tensors};
    q->guess = calloc(room.guesses, sizeof *q->guess);
    q->tried = calloc(room.tries, sizeof *q->tried);
    q->pixel = calloc(room.points, sizeof *q->pixel);
    q->claims = calloc((size_t)s->w * (size_t)s->h, sizeof *q->claims);
    q->found = calloc(HYPOTHESES_MAX, sizeof *q->found);
    q->n_found = calloc(1, sizeof *q->n_found);
    if (q->guess && q->tried && q->pixel && q->claims && q->found && q->n_found)
        return 0;
    hypothesis_free(q);
    return err_set(err, ERR_MEMORY, "no memory to look for %u objects", l->n_objects);
}

void hypothesis_free(struct hypotheses *q)
{
    free(q->guess);
    free(q->tried);
    free(q->pixel);
    free(q->claims);
    free(q->found);
    free(q->n_found);
    *q = (struct hypotheses){0};
}
