#include "gpu/track/landmark.h"

struct landmark_params landmark_params_default(void)
{
    return (struct landmark_params){5, TRACK_KEPT, 0.01f};
}
