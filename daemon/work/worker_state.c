#include "daemon/work/worker_state.h"

void worker_lose(struct worker *w)
{
    if (w->config.store)
        store_blame(w->config.store);
    atomic_store(&w->lost, true);
}
