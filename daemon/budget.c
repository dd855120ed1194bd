#include "daemon/budget.h"

int budget_take(struct budget *b, uint64_t bytes, struct err *err)
{
    unsigned long long used = atomic_load(&b->used), limit = atomic_load(&b->limit);

    do {
        if (bytes > limit || used > limit - bytes)
            return err_set(err, ERR_BUSY, "%llu MiB are needed, %llu of %llu MiB are taken",
                           (unsigned long long)bytes >> 20, used >> 20, limit >> 20);
    } while (!atomic_compare_exchange_weak(&b->used, &used, used + bytes));
    return 0;
}

void budget_give(struct budget *b, uint64_t bytes)
{
    atomic_fetch_sub(&b->used, bytes);
}
