#include "gpu/recognise/hypothesis.h"

struct hypothesis_params hypothesis_params_default(void)
{
    return (struct hypothesis_params){.turn_cos = 0.94f,
                                      .move_m = 0.03f,
                                      .tries = 24,
                                      .rounds = 20,
                                      .gate_m = 0.03f,
                                      .close_m = 0.006f,
                                      .score = 0.92f,
                                      .visible = 0.25f,
                                      .points = 60,
                                      .second = 0.08f,
                                      .third = 0.015f};
}
