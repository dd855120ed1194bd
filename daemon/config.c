#include "daemon/config.h"

#include "api/token.h"
#include "daemon/config_table.h"
#include "daemon/work/devices.h"
#include "daemon/ini.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Keys of earlier versions: a configuration that has one still starts. */
static const struct {
    const char *section, *name, *variable;
} retired_keys[] = {{"device", "answer_ms", "RECOND_DEVICE_ANSWER_MS"}};

/* Is it a retired key, by section and name or by its variable? Notes it if so. */
static bool key_is_retired(struct config *config, const char *section, const char *name,
                           const char *variable)
{
    for (size_t i = 0; i < sizeof(retired_keys) / sizeof(retired_keys[0]); i++) {
        if (variable ? strcmp(variable, retired_keys[i].variable) != 0
                     : strcmp(section, retired_keys[i].section) != 0 ||
                           strcmp(name, retired_keys[i].name) != 0)
            continue;
        snprintf(config->retired, sizeof(config->retired), "%s.%s", retired_keys[i].section,
                 retired_keys[i].name);
        return true;
    }
    return false;
}

static int set_named(struct config *config, const char *section, const char *name,
                     const char *value, struct err *err)
{
    struct config_key key;
    const char *hint;

    if (config_table_find(&key, section, name, &hint))
        return config_table_set(config, &key, value, err);
    if (key_is_retired(config, section, name, NULL))
        return 0;
    if (hint)
        return err_set(err, ERR_INPUT, "unknown key %.40s.%.40s; did you mean %s?", section, name,
                       hint);
    return err_set(err, ERR_INPUT, "unknown key %.40s.%.40s; --print-config lists them all",
                   section, name);
}

static int on_pair(void *ctx, const char *section, const char *name, const char *value,
                   struct err *err)
{
    return set_named(ctx, section, name, value, err);
}

/* Makes the variable's name for a key, RECOND_SECTION_KEY. */
static void variable_name(char *buf, size_t cap, const struct config_key *key)
{
    snprintf(buf, cap, "RECOND_%s_%s", key->section, key->name);
    for (char *p = buf; *p; p++)
        *p = (char)toupper((unsigned char)*p);
}

/* Does `name` (after RECOND_) begin with one of our sections? Others are not ours. */
static bool names_section(const char *name)
{
    struct config_key key;

    for (int i = 0; config_table_at(&key, i); i++) {
        size_t n = strlen(key.section);
        if (strncasecmp(name, key.section, n) == 0 && name[n] == '_')
            return true;
    }
    return false;
}

static int load_variable(struct config *config, const char *entry, struct err *err)
{
    const char *equals = strchr(entry, '=');
    char name[80], wanted[80];
    struct config_key key;
    int rc;

    if (!equals || strncmp(entry, "RECOND_", 7) != 0 || !names_section(entry + 7))
        return 0;
    snprintf(name, sizeof(name), "%.*s", (int)(equals - entry), entry);
    for (int i = 0; config_table_at(&key, i); i++) {
        variable_name(wanted, sizeof(wanted), &key);
        if (strcmp(name, wanted) != 0)
            continue;
        rc = config_table_set(config, &key, equals + 1, err);
        if (rc && err)
            snprintf(err->where, sizeof(err->where), "%s", name);
        return rc;
    }
    if (key_is_retired(config, NULL, NULL, name))
        return 0;
    return err_at(err, ERR_INPUT, name, "no key has this variable; --print-config lists them all");
}

/* Flags with a shorter name than --section.key=. */
static const struct {
    const char *flag, *section, *name;
} short_flags[] = {
    {"--http-port", "http", "port"},
    {"--stream-port", "stream", "port"},
    {"--log-level", "log", "level"},
    {"--log-format", "log", "format"},
    {"--device", "device", "use"},
    {"--models", "models", "path"},
    {"--address-file", "service", "address_file"},
};

static int load_flag(struct config *config, const char *arg, struct err *err)
{
    const char *equals = strchr(arg, '='), *dot = strchr(arg, '.');
    char section[32], name[48], flag[64];
    int rc;

    snprintf(flag, sizeof(flag), "%.*s", (int)(equals ? equals - arg : 60), arg);
    if (strncmp(arg, "--", 2) != 0)
        return err_at(err, ERR_INPUT, flag, "not a flag; --help lists them");
    section[0] = name[0] = '\0';
    if (equals && dot && dot < equals) {
        snprintf(section, sizeof(section), "%.*s", (int)(dot - arg - 2), arg + 2);
        snprintf(name, sizeof(name), "%.*s", (int)(equals - dot - 1), dot + 1);
    }
    for (size_t i = 0; i < sizeof(short_flags) / sizeof(short_flags[0]); i++)
        if (strcmp(flag, short_flags[i].flag) == 0) {
            snprintf(section, sizeof(section), "%s", short_flags[i].section);
            snprintf(name, sizeof(name), "%s", short_flags[i].name);
        }
    if (!equals && section[0])
        return err_at(err, ERR_INPUT, flag, "needs a value: %s=VALUE", flag);
    if (!section[0])
        return err_at(err, ERR_INPUT, flag, "unknown flag; keys are set by --section.key=value");
    rc = set_named(config, section, name, equals + 1, err);
    if (rc && err)
        snprintf(err->where, sizeof(err->where), "%s", flag);
    return rc;
}

/* Handles flags that are not keys. Returns 1 if arg was one. */
static int action_flag(const char *arg, enum config_action *action)
{
    static const struct {
        const char *brief, *full;
        enum config_action action;
    } flags[] = {{"-t", "--check-config", CONFIG_CHECK},
                 {"-p", "--print-config", CONFIG_PRINT},
                 {"-h", "--help", CONFIG_HELP},
                 {"-V", "--version", CONFIG_VERSION}};

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (strcmp(arg, flags[i].brief) == 0 || strcmp(arg, flags[i].full) == 0) {
            *action = flags[i].action;
            return 1;
        }
    return 0;
}

static int file_flag(const char **file, int argc, char *const argv[], int *i, struct err *err)
{
    if (strncmp(argv[*i], "--config=", 9) == 0) {
        *file = argv[*i] + 9;
        return 1;
    }
    if (strcmp(argv[*i], "-c") != 0 && strcmp(argv[*i], "--config") != 0)
        return 0;
    if (*i + 1 >= argc)
        return err_at(err, ERR_INPUT, argv[*i], "needs a value: the configuration file");
    *file = argv[++*i];
    return 1;
}

static int load_file(struct config *config, const char *file, struct err *err)
{
    struct err why = {0};
    int rc = ini_read(file ? file : CONFIG_DEFAULT_FILE, on_pair, config, &why);

    if (rc == ERR_IO && !file)
        return 0;
    if (rc && err)
        *err = why;
    return rc;
}

/* systemd's LoadCredential= provides the token file without naming its path. */
static void use_credential(struct config *config, char *const env[])
{
    static const char variable[] = "CREDENTIALS_DIRECTORY=";
    size_t n = sizeof(variable) - 1;
    char path[CONFIG_TEXT_CAP];

    if (config->auth.mode != CONFIG_AUTH_TOKEN || config->auth.token_file[0])
        return;
    for (int i = 0; env && env[i]; i++)
        if (strncmp(env[i], variable, n) == 0 &&
            snprintf(path, sizeof(path), "%s/" TOKEN_CREDENTIAL, env[i] + n) < (int)sizeof(path) &&
            access(path, F_OK) == 0)
            strcpy(config->auth.token_file, path);
}

int config_load(struct config *config, enum config_action *action, int argc, char *const argv[],
                char *const env[], struct err *err)
{
    const char *file = NULL;
    struct config_key key;
    int rc = 0;

    *action = CONFIG_RUN;
    memset(config, 0, sizeof(*config));
    for (int i = 0; rc == 0 && config_table_at(&key, i); i++)
        rc = config_table_set(config, &key, key.standard, err);
    for (int i = 1; i < argc && rc == 0; i++)
        if (!action_flag(argv[i], action) && (rc = file_flag(&file, argc, argv, &i, err)) > 0)
            rc = 0;
    if (rc || *action == CONFIG_HELP || *action == CONFIG_VERSION)
        return rc;
    rc = load_file(config, file, err);
    for (int i = 0; env && env[i] && rc == 0; i++)
        rc = load_variable(config, env[i], err);
    for (int i = 1; i < argc && rc == 0; i++) {
        enum config_action ignored;
        const char *same;
        int skip = action_flag(argv[i], &ignored) || file_flag(&same, argc, argv, &i, err) > 0;
        if (!skip)
            rc = load_flag(config, argv[i], err);
    }
    if (rc == 0)
        use_credential(config, env);
    return rc ? rc : config_check(config, err);
}

static bool is_loopback(const char *address)
{
    struct in_addr v4;

    if (inet_pton(AF_INET, address, &v4) == 1)
        return (ntohl(v4.s_addr) >> 24) == 127;
    return strcmp(address, "::1") == 0;
}

static int check_address(const struct config *c, const char *key, const char *address,
                         struct err *err)
{
    struct in6_addr any;

    if (inet_pton(AF_INET, address, &any) != 1 && inet_pton(AF_INET6, address, &any) != 1)
        return err_at(err, ERR_INPUT, key, "'%.64s' is not a numeric IPv4 or IPv6 address",
                      address);
    if (c->auth.mode == CONFIG_AUTH_NONE && !is_loopback(address))
        return err_at(err, ERR_INPUT, key,
                      "%.64s can be reached from elsewhere: auth.mode = token is needed", address);
    if (!c->tls.cert_file[0] && !c->service.behind_proxy && !is_loopback(address))
        return err_at(err, ERR_INPUT, key,
                      "%.64s can be reached from elsewhere: TLS (tls.cert_file) is needed, or "
                      "service.behind_proxy = yes where a proxy speaks it",
                      address);
    return 0;
}

int config_check(const struct config *c, struct err *err)
{
    const struct session_options *o = &c->session.options;
    struct devices devices;
    int rc = check_address(c, "http.listen", c->http.listen, err);

    if (rc == 0)
        rc = check_address(c, "stream.listen", c->stream.listen, err);
    if (rc)
        return rc;
    if (c->auth.mode == CONFIG_AUTH_TOKEN && !c->auth.token_file[0])
        return err_at(err, ERR_INPUT, "auth.token_file", "is needed by auth.mode = token");
    if (!c->tls.cert_file[0] != !c->tls.key_file[0])
        return err_at(err, ERR_INPUT, c->tls.cert_file[0] ? "tls.key_file" : "tls.cert_file",
                      "is needed too: a certificate and its key go together");
    if (c->http.port && c->http.port == c->stream.port)
        return err_at(err, ERR_INPUT, "stream.port", "%d is http.port already", c->stream.port);
    if (c->stream.hangup_s <= c->stream.ping_s)
        return err_at(err, ERR_INPUT, "stream.hangup_s",
                      "%d must be larger than stream.ping_s = %d", c->stream.hangup_s,
                      c->stream.ping_s);
    if (o->min_depth_m >= o->max_depth_m)
        return err_at(err, ERR_INPUT, "session.min_depth_m", "%g must be below max_depth_m = %g",
                      (double)o->min_depth_m, (double)o->max_depth_m);
    if (o->max_points > c->limits.max_points)
        return err_at(err, ERR_INPUT, "session.max_points", "%u is over limits.max_points = %u",
                      o->max_points, c->limits.max_points);
    return devices_resolve(&devices, c->device.use, 0, err);
}

void config_print(FILE *out, const struct config *config)
{
    char value[CONFIG_TEXT_CAP + 1];
    const char *section = "";
    struct config_key key;

    for (int i = 0; config_table_at(&key, i); i++) {
        if (strcmp(section, key.section) != 0)
            fprintf(out, "%s[%s]\n", i ? "\n" : "", key.section);
        section = key.section;
        config_table_show(value, config, &key);
        fprintf(out, "# %s.%s%s%s%s\n%s = %s\n", key.help,
                strcmp(value, key.standard) ? " Default: " : "",
                strcmp(value, key.standard) ? (key.standard[0] ? key.standard : "empty") : "",
                strcmp(value, key.standard) ? "." : "", key.reload ? " SIGHUP applies it." : "",
                key.name, value);
    }
}

void config_help(FILE *out)
{
    fputs("Usage: recond [FLAG]...\n"
          "Turn video streams into growing point clouds; see recond(8) and recond.conf(5).\n\n"
          "  -c, --config=FILE      read FILE instead of " CONFIG_DEFAULT_FILE "\n"
          "  -t, --check-config     check the configuration and the files that it names, and end\n"
          "  -p, --print-config     print the configuration with every key, and end\n"
          "  -V, --version          print the version, and end\n"
          "  -h, --help             print this, and end\n"
          "      --section.key=VALUE   set any key; the environment may as well: "
          "RECOND_SECTION_KEY\n",
          out);
    for (size_t i = 0; i < sizeof(short_flags) / sizeof(short_flags[0]); i++)
        fprintf(out, "      %s=VALUE%*s--%s.%s\n", short_flags[i].flag,
                (int)(17 - strlen(short_flags[i].flag)), "", short_flags[i].section,
                short_flags[i].name);
    fputs("\nExit: 0 ended as asked, 64 wrong usage, 69 an address is taken, 70 device fault,\n"
          "71 the system refused, 78 wrong configuration.\n",
          out);
}

int config_reload_apply(struct config *now, const struct config *fresh, char *later, size_t cap)
{
    char a[CONFIG_TEXT_CAP + 1], b[CONFIG_TEXT_CAP + 1];
    struct config_key key;
    struct err ignored;
    int n = 0;

    later[0] = '\0';
    for (int i = 0; config_table_at(&key, i); i++) {
        size_t used = strlen(later);

        config_table_show(a, now, &key);
        config_table_show(b, fresh, &key);
        if (strcmp(a, b) == 0)
            continue;
        if (key.reload && config_table_set(now, &key, b, &ignored) == 0)
            continue;
        snprintf(later + used, cap - used, "%s%s.%s", n ? " " : "", key.section, key.name);
        n++;
    }
    return n;
}
