/* What a flight took, shared out to the sessions whose frames were in it. */
#include "daemon/work/worker.h"

void worker_charge(struct turn *turns, struct job *const *jobs, int n, uint64_t us)
{
    uint64_t pixels[GPU_BATCH_MAX], all = 0;
    int w, h;

    for (int i = 0; i < n; i++) {
        session_get_net(jobs[i]->session, &w, &h);
        pixels[i] = 1 + (uint64_t)w * (uint64_t)h;
        all += pixels[i];
    }
    for (int i = 0; i < n; i++)
        turn_charge(turns, &session_work(jobs[i]->session)->work_turn, us * pixels[i] / all);
}
