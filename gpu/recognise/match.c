#include "gpu/recognise/match.h"

struct match_params match_params_default(void)
{
    struct match_params p;

    params_fill(&p, &recognise_params_match, NULL, NULL);
    return p;
}
