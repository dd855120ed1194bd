/*
 * walk - write a sequence of one camera that shows all directions, through a place whose surfaces
 * are known
 *
 *     walk room|market OUT [WIDTH [FRAMES]]
 *
 * OUT gets the layout that client_sequence.h reads: frames/, equirectangular pictures of WIDTH x
 * WIDTH / 2 (1024), poses.txt, sequence.json. Places are those of tests/support/pair_place.h, the
 * way is pair_walk.h's, FRAMES (200) of it.
 */
#include "tests/support/jpeg_write.h"
#include "tests/support/pair_place.h"
#include "tests/support/pair_walk.h"

#include <stdlib.h>
#include <sys/stat.h>

#define QUALITY 92

static void fail(const char *what)
{
    fprintf(stderr, "walk: %s\n", what);
    exit(1);
}

static FILE *create(const char *folder, const char *name)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "wb");
    if (!f)
        fail(path);
    return f;
}

static void put_frame(const char *out, FILE *poses, const struct pair_place *place, uint8_t *rgb,
                      int width, int i)
{
    const struct pair_walk_pose p = pair_walk_pose(i);
    const struct lens l = pair_walk_lens();
    const float *t = p.T_wc.t;
    char name[32];
    uint8_t *data;
    size_t len;
    FILE *f;

    pair_place_draw(place, rgb, width, width / 2, &l, lens_sphere_intrinsics(width, width / 2),
                    &p.T_wc);
    data = jpeg_write(rgb, width, width / 2, QUALITY, &len);
    snprintf(name, sizeof name, "frames/%06d.jpg", i);
    f = create(out, name);
    if (fwrite(data, 1, len, f) != len || fclose(f))
        fail(name);
    free(data);
    fprintf(poses, "%06d %.6f %.6f %.6f %.7f %.7f %.7f %.7f\n", i, (double)t[0], (double)t[1],
            (double)t[2], (double)p.q[0], (double)p.q[1], (double)p.q[2], (double)p.q[3]);
}

int main(int argc, char **argv)
{
    int width = argc > 3 ? atoi(argv[3]) : 1024, n = argc > 4 ? atoi(argv[4]) : PAIR_WALK_FRAMES;
    const struct pair_place *place;
    char path[4096];
    uint8_t *rgb;
    FILE *poses, *f;

    if (argc < 3 || width < 32 || width > 8192 || n < 1)
        fail("walk room|market OUT [WIDTH [FRAMES]]");
    place = &pair_places[!strcmp(argv[1], "market")];
    rgb = malloc((size_t)width * (size_t)width / 2 * 3);
    snprintf(path, sizeof path, "%s/frames", argv[2]);
    if (!rgb || (mkdir(argv[2], 0777), mkdir(path, 0777)))
        fail(path);
    poses = create(argv[2], "poses.txt");
    for (int i = 0; i < n; i++)
        put_frame(argv[2], poses, place, rgb, width, i);
    f = create(argv[2], "sequence.json");
    fprintf(f,
            "{\"up\": \"+z\", \"model\": \"sphere\", \"width\": %d, \"height\": %d, \"fps\": %d}\n",
            width, width / 2, PAIR_WALK_FPS);
    if (fclose(f) || fclose(poses))
        fail("the folder cannot be written");
    free(rgb);
    return 0;
}
