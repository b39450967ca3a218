/* What the bodies of the API's requests about topics say. Pure; as api_decode.h. */
#ifndef DUEQ_PROTOCOL_HTTP_API_DECODE_TOPIC_H
#define DUEQ_PROTOCOL_HTTP_API_DECODE_TOPIC_H

#include "protocol/http/api_decode.h"

/* A whole state kicked or purged, as struct sweep wants it. */
struct api_sweep {
    unsigned states; /* PURGE: 1 << enum job_state of each */
    uint64_t limit;  /* 0: none */
    int64_t since_ms;
    int64_t before_ms; /* 0: none */
};

struct api_pause {
    int64_t until_ms; /* SETTINGS_FOREVER: until it is resumed */
    int64_t for_ms;   /* from now, instead; 0: until counts */
};

/* Settings of `mask`: to their values, or, where they are not set, to none. */
struct api_settings {
    struct topic_settings settings;
    unsigned mask;
};

/* Of KICK or PURGE. */
enum status api_decode_sweep(struct bytes object, enum op_verb verb, struct api_sweep *sweep,
                             struct api_why *why) MUST_CHECK;

enum status api_decode_pause(struct bytes object, struct api_pause *pause,
                             struct api_why *why) MUST_CHECK;

enum status api_decode_settings(struct bytes object, struct api_settings *settings,
                                struct api_why *why) MUST_CHECK;

/* The words of the states, at their numbers. */
extern const char *const api_states[JOB_DEAD + 1];

#endif
