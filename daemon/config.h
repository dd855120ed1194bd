/*
 * config.h - what an operator may choose, from a file, the environment and flags
 *
 * One table (config_table.c) names every key with its type, range, default and meaning; the loader,
 * the checks, --print-config and the test that holds docs/recond.conf.5 against the program all
 * read it. The options of sessions that have a default are keys of [session], by their own table.
 * Precedence: flag `--section.key=value` > RECOND_SECTION_KEY > file > default. Every error names
 * the place (file:line, variable or flag), the key and what is allowed.
 */
#pragma once

#include "api/quota.h"
#include "api/session_options.h"
#include "proto/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CONFIG_TEXT_CAP 192
#define CONFIG_DEFAULT_FILE "/etc/recond/recond.conf"

enum config_log_format { CONFIG_LOG_AUTO, CONFIG_LOG_TEXT, CONFIG_LOG_JSON, CONFIG_LOG_JOURNAL };
enum config_auth_mode { CONFIG_AUTH_NONE, CONFIG_AUTH_TOKEN };

struct config {
    struct {
        char listen[64];
        int port, header_timeout_s;
        uint64_t max_body_bytes;
    } http;
    struct {
        char listen[64], public_url[CONFIG_TEXT_CAP];
        int port, message_timeout_s, ping_s, hangup_s;
    } stream;
    struct {
        int mode; /* enum config_auth_mode */
        char token_file[CONFIG_TEXT_CAP];
        char origins[CONFIG_TEXT_CAP]; /* separated by blanks */
    } auth;
    struct {
        char cert_file[CONFIG_TEXT_CAP], key_file[CONFIG_TEXT_CAP];
    } tls;
    struct {
        int connections, per_address, sessions, blocks, exports, viewers;
        uint32_t max_points;
        uint64_t max_frame_bytes;
        int max_width, max_height, max_scans, decode_ms, net_pixels;
    } limits;
    struct quota quota; /* of tokens whose line sets none, admins' left out */
    struct {
        int queue_frames;
        int suspend_s;                  /* -1 = never */
        struct session_options options; /* of a session that does not set others */
    } session;
    struct {
        char path[CONFIG_TEXT_CAP]; /* empty: $STATE_DIRECTORY/journal, or none */
        int threads, high_water, checkpoint_frames;
        uint64_t segment_bytes, max_bytes;
    } journal;
    struct {
        char path[CONFIG_TEXT_CAP]; /* as objects_choose_path() takes it */
        int per_owner;
        uint64_t max_bytes, request_bytes;
    } objects;
    struct {
        char use[CONFIG_TEXT_CAP]; /* devices.h */
        char cache_path[CONFIG_TEXT_CAP];
        int threads, batch, batch_wait_us;
        uint64_t memory_bytes;
        float frames_per_s; /* 0 = no bound */
    } device;
    struct {
        int threads, card_pixels;
    } decode;
    struct {
        char path[CONFIG_TEXT_CAP]; /* directories, separated by colons */
    } models;
    struct {
        int level, format; /* syslog level, enum config_log_format */
    } log;
    struct {
        int drain_s, behind_proxy;
        char address_file[CONFIG_TEXT_CAP];
    } service;
    char retired[64]; /* a retired key that was given; empty: none */
};

/* Other requests of the command line. */
enum config_action { CONFIG_RUN, CONFIG_CHECK, CONFIG_PRINT, CONFIG_HELP, CONFIG_VERSION };

/*
 * config_load - defaults, then file, environment and flags
 *
 * In:      argv; env (NULL-terminated NAME=value strings, normally `environ`)
 * Out:     *config, complete and checked; *action. For HELP and VERSION nothing is read.
 * Returns: 0; ERR_INPUT: where = file:line, variable or flag; ERR_IO: a file that was named cannot
 *          be read (the default file may be absent)
 */
MUST_CHECK int config_load(struct config *config, enum config_action *action, int argc,
                           char *const argv[], char *const env[], struct err *err);

/*
 * config_check - rules that join several keys (tokens off loopback, ranges of depth, ...)
 * Returns: 0; ERR_INPUT with where = the key
 */
MUST_CHECK int config_check(const struct config *config, struct err *err);

/* Prints the configuration in the file's own syntax; and marks values that differ from the
 * default. */
void config_print(FILE *out, const struct config *config);
void config_help(FILE *out);

/*
 * config_reload_apply - take over from `fresh` what a running daemon can change
 *
 * Out:     now: updated; later [cap]: keys that differ but need a restart, separated by blanks
 * Returns: the number of keys that need a restart
 */
int config_reload_apply(struct config *now, const struct config *fresh, char *later, size_t cap);
