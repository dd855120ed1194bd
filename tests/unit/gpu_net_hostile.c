/* Files that are damaged, wrong or hostile: each is refused with a code and a sentence, in bounded
 * memory. */
#include "tests/support/count_malloc.h"
#include "tests/support/net_try.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <unistd.h>

/* ---------------------------------------------------------------------------------- helpers */

static void tiny_model(struct onnx_build *b)
{
    struct ref w = ref_random(4, 3, 3, 3, 1, 0.5f);
    onnx_begin(b, 13);
    onnx_input(b, "x", -1, 3, -1, -1);
    ref_weights(b, "w", w);
    onnx_init(b, "q", 3, 4, (int64_t[]){4, 4, 1, 1}, "weights of bytes", 16);
    onnx_f32(b, "k", 1, (int64_t[]){4}, (float[]){1, 2, 3, 4});
    onnx_init(b, "z", 3, 1, (int64_t[]){4}, "zero", 4);
    onnx_f32(b, "s", 1, (int64_t[]){4}, (float[]){1, 1, 2, 2});
    onnx_node(b, "Conv", "x w", "c");
    onnx_ints(b, "pads", 4, (int64_t[]){1, 1, 1, 1});
    onnx_node(b, "Relu", "c", "r");
    onnx_node(b, "DequantizeLinear", "q k z", "w2");
    onnx_int(b, "axis", 0);
    onnx_node(b, "Conv", "r w2", "v");
    onnx_node(b, "Resize", "v - s", "u");
    onnx_text(b, "mode", "nearest");
    onnx_node(b, "Concat", "u u", "y");
    onnx_int(b, "axis", 1);
    onnx_end(b, "y");
}

/* ---------------------------------------------------------------------------------- damage */

TEST(truncated)
{
    struct onnx_build b;
    struct err err = {0};
    tiny_model(&b);
    assert_int_equal(try_bytes(b.file.p, b.file.n, 8, &err), 0);
    for (size_t n = 0; n < b.file.n; n++) {
        uint8_t *copy = malloc(n + 1); /* its own block: a sanitizer sees a read past the end */
        memcpy(copy, b.file.p, n);
        copy = realloc(copy, n ? n : 1);
        memset(&err, 0, sizeof err);
        check_refused(try_bytes(copy, n, 8, &err), &err);
        free(copy);
    }
    onnx_free(&b);
    ref_free_all();
}

TEST(every_bit_flipped)
{
    struct onnx_build b;
    size_t works = 0, refused = 0;
    tiny_model(&b);
    for (size_t bit = 0; bit < b.file.n * 8; bit++) {
        struct err err = {0};
        int rc;
        b.file.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
        rc = try_bytes(b.file.p, b.file.n, 8, &err);
        if (rc)
            check_refused(rc, &err);
        works += rc == 0;
        refused += rc != 0;
        b.file.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(works > 27 * 4 * 32 / 2); /* most bits of the weights are only another weight */
    assert_true(refused > 1000);
    onnx_free(&b);
    ref_free_all();
}

/* ---------------------------------------------------------------------------------- size */

static int load_counted(const struct onnx_build *b, size_t *bytes, struct err *err)
{
    struct net *net = NULL;
    size_t before = count_malloc_bytes;
    int rc = net_load_bytes(&net, b->file.p, b->file.n, NULL, NULL, NULL, err);
    *bytes = count_malloc_bytes - before;
    net_free(&net);
    return rc;
}

TEST(a_million_nodes)
{
    struct onnx_build b;
    struct err err = {0};
    size_t bytes;
    onnx_begin(&b, 13);
    onnx_input(&b, "x", -1, 3, -1, -1);
    for (int i = 0; i < 1000000; i++)
        onnx_bytes_field(&b.graph, 1, "", 0);
    onnx_end(&b, "y");
    assert_int_equal(load_counted(&b, &bytes, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "4096 nodes"));
    assert_true(bytes < 1 << 20); /* refused before anything was unpacked */
    onnx_free(&b);
}

/* Many empty initialisers: 2 bytes each in the file, over 200 in memory. */
TEST(memory_bomb)
{
    struct onnx_build b;
    struct err err = {0};
    size_t bytes;
    onnx_begin(&b, 13);
    for (int i = 0; i < 1000000; i++)
        onnx_bytes_field(&b.graph, 5, "", 0);
    onnx_end(&b, "y");
    assert_int_equal(load_counted(&b, &bytes, &err), ERR_LIMIT);
    assert_true(bytes <= 2 * b.file.n + ((size_t)65 << 20));
    onnx_free(&b);
}

/* A type inside a type inside a type: one stack frame of the parser each. */
TEST(deep_nesting)
{
    struct onnx_bytes in = {0}, out = {0};
    struct onnx_build b;
    struct err err = {0};
    size_t bytes;
    for (int i = 0; i < 2000; i++) {
        out.n = 0;
        onnx_bytes_field(&out, i % 2 ? 4 : 1, in.p, in.n); /* sequence_type, elem_type */
        in.n = 0;
        onnx_put(&in, out.p, out.n);
    }
    onnx_begin(&b, 13);
    out.n = 0;
    onnx_text_field(&out, 1, "x");
    onnx_bytes_field(&out, 2, in.p, in.n);
    onnx_bytes_field(&b.graph, 11, out.p, out.n);
    onnx_node(&b, "Relu", "x", "y");
    onnx_end(&b, "y");
    assert_int_equal(load_counted(&b, &bytes, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "nested"));
    free(in.p);
    free(out.p);
    onnx_free(&b);
}

/* A chain as long as is allowed: planned in reasonable time, every step merged or run. */
TEST(longest_chain)
{
    struct onnx_build b;
    struct net *net;
    struct err err = {0};
    int shape[4];
    char in[16] = "x", out[16];
    onnx_begin(&b, 13);
    onnx_input(&b, "x", -1, 3, -1, -1);
    for (int i = 0; i < 4096; i++) {
        snprintf(out, sizeof out, i == 4095 ? "y" : "t%d", i);
        onnx_node(&b, i % 2 ? "Relu" : "Tanh", in, out);
        memcpy(in, out, sizeof in);
    }
    onnx_end(&b, "y");
    assert_int_equal(net_load_bytes(&net, b.file.p, b.file.n, NULL, NULL, NULL, &err), 0);
    assert_int_equal(net_output_shape(net, 1, 8, 8, shape, &err), 0);
    assert_int_equal(shape[1], 3);
    net_free(&net);
    onnx_free(&b);
}

TEST(files)
{
    char path[] = "/tmp/gpu_net_hostile_XXXXXX";
    struct net_limits l;
    struct net *net;
    struct onnx_build b;
    struct err err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    tiny_model(&b);
    assert_int_equal(write(fd, b.file.p, b.file.n), (ssize_t)b.file.n);
    close(fd);
    assert_int_equal(net_load(&net, path, "", "", NULL, &err), 0);
    assert_int_equal(net_weight_count(net), 4 * 3 * 9 + 4 + 16 + 2 * 4);
    net_free(&net);
    net_limits_default(&l);
    l.max_file_bytes = b.file.n - 1;
    assert_int_equal(net_load(&net, path, "", "", &l, &err), ERR_LIMIT);
    net_limits_default(&l);
    l.max_weight_bytes = 400;
    assert_int_equal(net_load(&net, path, "", "", &l, &err), ERR_LIMIT);
    assert_int_equal(net_load(&net, "/nowhere/at/all", "", "", NULL, &err), ERR_IO);
    assert_int_equal(net_load(&net, "/tmp", "", "", NULL, &err), ERR_IO);
    assert_int_equal(net_load(&net, "/dev/zero", "", "", NULL, &err), ERR_IO);
    assert_null(net);
    unlink(path);
    onnx_free(&b);
    ref_free_all();
}
