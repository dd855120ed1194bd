#include "gpu/recognise/match.h"

#include <string.h>

struct match_params match_params_default(void)
{
    return (struct match_params){0.3f, 0.05f};
}

struct match match_of(uint64_t key)
{
    struct match m = {0};
    uint32_t bits = (uint32_t)(key >> 32);
    memcpy(&m.score, &bits, sizeof m.score);
    m.tensor = 0x7fffffffu - ((uint32_t)key >> 1);
    m.turned = (int)(key & 1);
    return m;
}
