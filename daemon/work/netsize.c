#include "daemon/work/netsize.h"

void netsize_choose(int camera_w, int camera_h, int multiple, int *w, int *h)
{
    double aspect = (double)camera_w / (double)camera_h, best = 0;

    *w = *h = multiple;
    for (int y = multiple; y * multiple <= NETSIZE_AREA; y += multiple)
        for (int x = multiple; x * y <= NETSIZE_AREA; x += multiple) {
            double ratio = (double)x / (double)y / aspect;
            double fit = ratio < 1 ? ratio : 1 / ratio;
            double score = (double)(x * y) * fit * fit;
            if (score > best) {
                best = score;
                *w = x;
                *h = y;
            }
        }
}
