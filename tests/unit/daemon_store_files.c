/* What a start makes of a session whose files were cut, changed, or are none: nothing is deleted,
 * and the others come back. */
#include "tests/support/store_rig.h"
#include "tests/support/unit.h"

#include "daemon/disk/store_internal.h"

#include <dirent.h>

static char file[256]; /* that find() found last */

/* The file of the session whose name ends so; its path in `file`. */
static bool find(const char *id, const char *end)
{
    char path[192];
    struct dirent *e;
    bool found = false;
    DIR *d;

    snprintf(path, sizeof(path), "%s/sessions/%s", folder, id);
    d = opendir(path);
    while (d && !found && (e = readdir(d))) {
        size_t n = strlen(e->d_name), m = strlen(end);
        found = n >= m && strcmp(e->d_name + n - m, end) == 0;
        if (found)
            snprintf(file, sizeof(file), "%.190s/%.60s", path, e->d_name);
    }
    if (d)
        closedir(d);
    return found;
}

static size_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

/* Two sessions: one with frames, and one beside it. */
static void make_sessions(char id[API_ID_CAP], char other[API_ID_CAP])
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LOSSLESS);

    open_rig(0);
    rig_session(&o, other);
    rig_session(&o, id);
    rig_connect(&c, id, CONTROL_INGEST);
    feed(&c, 1, 12);
    rig_end(&c);
}

static bool comes_back(const char *id, const char *other)
{
    struct session_info info;
    int rc;

    (void)come_back(0, other);
    rc = core_ops.session_get(rig.core, id, &info, NULL);
    if (rc == 0)
        wait_until_back(id);
    rig_close();
    return rc == 0;
}

TEST_WITH(a_lost_manifest_deletes_nothing, make_folder, remove_folder)
{
    char id[API_ID_CAP], other[API_ID_CAP], aside[256];

    make_sessions(id, other);
    assert_true(find(id, "meta.json"));
    snprintf(aside, sizeof(aside), "%s/meta", folder);
    assert_int_equal(rename(file, aside), 0);
    assert_false(comes_back(id, other));
    assert_true(find(id, ".seg"));
    assert_true(size_of(file) > 12 * 1000);
    snprintf(file, sizeof(file), "%s/sessions/%s/meta.json", folder, id);
    assert_int_equal(rename(aside, file), 0);
    assert_true(comes_back(id, other));
}

TEST_WITH(a_changed_manifest_is_not_believed, make_folder, remove_folder)
{
    char id[API_ID_CAP], other[API_ID_CAP], text[16384];
    ssize_t len;
    int fd, n = 0;

    make_sessions(id, other);
    assert_true(find(id, "meta.json"));
    fd = open(file, O_RDWR);
    len = read(fd, text, sizeof(text));
    assert_true(len > 200);
    for (ssize_t at = 5; at < len - 22; at += len / 12, n++) { /* what the sum is of */
        char wrong = (char)(text[at] ^ 1);
        assert_int_equal(pwrite(fd, &wrong, 1, at), 1);
        if (comes_back(id, other))
            fail_msg("byte %zd: %.40s", at, text + at);
        assert_true(find(id, ".seg"));
        assert_int_equal(pwrite(fd, text + at, 1, at), 1);
    }
    assert_true(n > 10);
    assert_true(comes_back(id, other));
    close(fd);
}

static enum session_fusion fusion_of(const char *id)
{
    enum session_fusion fusion;

    (void)come_back(0, id);
    assert_int_equal(rig_info(id).counts.used, 12);
    fusion = rig_info(id).options.fusion;
    rig_close();
    return fusion;
}

/* The manifest of a version that had neither the options `fusion` and `views` nor a checksum. */
TEST_WITH(an_old_session_keeps_the_rules_of_its_time, make_folder, remove_folder)
{
    static const char fusion[] = ",\"fusion\":\"cells\",\"views\":\"refined\"";
    char id[API_ID_CAP], other[API_ID_CAP], text[16384], *at;
    FILE *f;

    make_sessions(id, other);
    assert_int_equal(fusion_of(id), SESSION_FUSION_CELLS);
    assert_true(find(id, "meta.json"));
    f = fopen(file, "r+");
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    at = strstr(text, fusion);
    assert_non_null(at);
    memmove(at, at + strlen(fusion), strlen(at + strlen(fusion)) + 1);
    at = strstr(text, ",\"crc32c\"");
    assert_non_null(at);
    strcpy(at, "}");
    rewind(f);
    assert_int_equal(ftruncate(fileno(f), 0), 0);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(fusion_of(id), SESSION_FUSION_PAPER);
}

/* The same of a panorama: the option `consistency` came later than the paper's rule. */
TEST_WITH(an_old_panorama_keeps_the_paper_s_consistency, make_folder, remove_folder)
{
    static const char *const options[] = {"", ",\"consistency\":\"patch\""};
    struct store_manifest m;
    int fd = open(folder, O_RDONLY | O_DIRECTORY);

    snprintf(file, sizeof(file), "%s/old", folder);
    assert_int_equal(mkdir(file, 0700), 0);
    snprintf(file, sizeof(file), "%s/old/meta.json", folder);
    for (int i = 0; i < 2; i++) {
        FILE *f = fopen(file, "w");

        assert_non_null(f);
        fprintf(f,
                "{\"version\":3,\"id\":\"old\",\"epoch\":1,\"rank\":0,"
                "\"options\":{\"kind\":\"panorama\"%s}}",
                options[i]);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(store_manifest_read(fd, "old", &m, NULL), 0);
        assert_int_equal(m.options.consistency,
                         i ? SESSION_CONSISTENCY_PATCH : SESSION_CONSISTENCY_PAPER);
    }
    close(fd);
}

TEST_WITH(pipes_hold_up_no_start, make_folder, remove_folder)
{
    static const char *const names[] = {"meta.json", ".seg", "synced"};
    char id[API_ID_CAP], other[API_ID_CAP], aside[256];

    make_sessions(id, other);
    snprintf(aside, sizeof(aside), "%s/aside", folder);
    for (int i = 0; i < 3; i++) {
        assert_true(find(id, names[i]));
        assert_int_equal(rename(file, aside), 0);
        assert_int_equal(mkfifo(file, 0600), 0);
        (void)comes_back(id, other);
        assert_int_equal(rename(aside, file), 0);
    }
    assert_true(comes_back(id, other));
}

/* Wherever the last segment is cut, the records behind were synced: it is damage, and what stands
 * is left as it is. */
TEST_WITH(a_cut_behind_synced_records_is_damage, make_folder, remove_folder)
{
    char id[API_ID_CAP], other[API_ID_CAP], was[API_TEXT_CAP];
    struct session_info info;
    size_t size;

    make_sessions(id, other);
    assert_true(find(id, ".seg"));
    size = size_of(file);
    for (int i = 1; i <= 4; i++) {
        assert_int_equal(truncate(file, (off_t)(size - size / 6 * (size_t)i)), 0);
        info = come_back(0, id);
        assert_string_not_equal(info.damaged, "");
        assert_true(info.counts.used > 0 && info.counts.used < 12);
        snprintf(was, sizeof(was), "%s", info.damaged);
        rig_close();
        assert_int_equal(size_of(file), size - size / 6 * (size_t)i);
        assert_non_null(strstr(was, "synced"));
    }
}
