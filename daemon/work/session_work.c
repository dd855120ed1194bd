#include "daemon/work/session_work.h"

#include "daemon/work/worker.h"

#include <stdlib.h>

int session_work_new(struct session *s, struct worker *worker, struct decode *decode,
                     struct budget *budget, struct err *err)
{
    /* pictures lie where the session's device reads them fast */
    const struct queue_memory memory = {worker_get_memory, worker_put_memory, worker};
    struct session_work *k = calloc(1, sizeof(*k));

    if (!k)
        return err_set(err, ERR_MEMORY, "no memory for a session");
    k->session = s;
    k->worker = worker;
    k->decode = decode;
    k->budget = budget;
    queue_set_memory(session_queue(s), &memory);
    session_set_work(s, k);
    return 0;
}

void session_work_free(struct session *s)
{
    struct session_work *k = session_work(s);

    if (!k)
        return;
    budget_give(k->budget, session_setup(s)->memory_bytes);
    free(k->depth);
    free(k);
    session_set_work(s, NULL);
}

void session_work_restore(struct session *s, const struct store_work *kept)
{
    session_work(s)->kept = *kept;
}
