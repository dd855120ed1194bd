#include "gpu/recognise/match.h"

struct match_params match_params_default(void)
{
    return (struct match_params){0.2f};
}
