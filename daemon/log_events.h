/*
 * log_events.h - events that an operator has to act on, each with its entry in the message catalog
 *
 * A line of such an event carries the identifier as MESSAGE_ID, so that `journalctl -x` shows what
 * it means and what to do (deploy/recond.catalog), and an alarm can search for it whatever the
 * wording. Identifiers are never used again for something else.
 */
#pragma once

#define LOG_EVENT_START_FAILED "8839e495b71e053327543ae924bd12ba"
/* at a reload; the old configuration, tokens or certificate stay in force */
#define LOG_EVENT_CONFIG_REFUSED "c5823935791a6547d1ad55427e0c7af6"
#define LOG_EVENT_TOKENS_UNREADABLE "b523d999a2e2197ac0a5856ad333348c"
#define LOG_EVENT_CERTIFICATE_UNREADABLE "aa2dd03132542f9e5ea4f6af342fcc16"

#define LOG_EVENT_DEVICE_LOST "60ffeebe14d9060ae0fd8605b10027ae"
#define LOG_EVENT_DEVICE_LEFT_OUT "98e55e4a7aa5fb3fadc8f464f96e6c3f"
#define LOG_EVENT_THREAD_STALLED "3d1760dcef075efc25af3d81a71deb6d"

#define LOG_EVENT_SESSION_DAMAGED "3c70dbd3ddf81435a8d4135aa05722d1"
#define LOG_EVENT_STORAGE_FAILED "b0d9fbf0db7780821d2b3ee31bf4662d"
#define LOG_EVENT_DISK_HIGH "4b81dfa2efded410e8ec7590893d3248"
#define LOG_EVENT_FRAME_QUARANTINED "20509959ff9282b35116e3b37e998cdd"
#define LOG_EVENT_OBJECT_REFUSED "873b9fe49ab04f45950659f966fbb201"
