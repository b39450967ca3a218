/* The steps of the handshake, for handshake.c, which takes them one after the other.
 *
 * To add a step: an ask_ function that sends its commands (none: the step is skipped), a take_
 * function that says of each reply whether to go on, and a line in handshake.c's table.
 */
#ifndef DUEQ_NODE_STORE_REDIS_HANDSHAKE_PRIVATE_H
#define DUEQ_NODE_STORE_REDIS_HANDSHAKE_PRIVATE_H

#include "node/store/redis/handshake.h"
#include "node/store/redis/scripts.h"
#include "node/store/redis/weakness.h"

#define HANDSHAKE_CALLS_MAX  OP_COUNT /* scripts are the most */
#define HANDSHAKE_SETUP_ASKS 4

/* One command of the current step, and which one it is (a verb). */
struct handshake_ask {
    struct redis_call call;
    struct redis_handshake *handshake;
    unsigned what;
};

struct redis_handshake {
    struct redis_handshake_options options;
    struct redis_link *link;
    unsigned step;
    unsigned waiting_for; /* replies of this step */
    bool asks_meta;
    bool is_over; /* of this connection: what is still answered is not looked at */
    char shas[OP_COUNT][SCRIPT_SHA_CHARS + 1];
    struct handshake_ask asks[HANDSHAKE_CALLS_MAX];

    struct redis_setup setup; /* as it was last told; its text is the next field */
    char appendfsync[16];
    unsigned weak;     /* as it was last judged, and told: 1 << enum weakness */
    struct timer look; /* while the connection is in use: when to look again */
    struct handshake_ask looks[HANDSHAKE_SETUP_ASKS];
    bool is_info_missing;  /* in this look */
    bool is_to_look_again; /* asked for since the last look began */
    bool is_looking_soon;  /* the timer is not to be set again, or nobody would ever look */
};

/* ---- asking ---- */

void handshake_send(struct redis_handshake *h, unsigned what, int argc,
                    const char *const *argv);
void handshake_send_script(struct redis_handshake *h, unsigned what, struct script_call *call);

/* A call of the caller's, that is no part of a step. At most three arguments. */
void handshake_send_call(struct redis_handshake *h, struct redis_call *call, int argc,
                         const char *const *argv);

/* ---- verdicts ---- */

/* The connection is closed and tried again. */
void handshake_come_back_later(struct redis_handshake *h, const char *why);

/* The same, and the owner hears why. */
void handshake_refuse(struct redis_handshake *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* An answer that is not what was asked for: later, where that may pass, or refused. */
void handshake_refuse_answer(struct redis_handshake *h, const char *what,
                             const struct redisReply *reply);

/* ---- setup.c: what it is, and how it is set up ---- */

void handshake_ask_setup(struct redis_handshake *h);
bool handshake_take_setup(struct redis_handshake *h, unsigned what,
                          const struct redisReply *reply);

void handshake_look_init(struct redis_handshake *h);

/* The handshake is done: looks again after options.look_ms, and so on. */
void handshake_look_later(struct redis_handshake *h);

/* ---- ours.c: our jobs, our channel, our scripts ---- */

void handshake_ask_meta(struct redis_handshake *h);
bool handshake_take_meta(struct redis_handshake *h, unsigned what,
                         const struct redisReply *reply);
void handshake_ask_channel(struct redis_handshake *h);
bool handshake_take_channel(struct redis_handshake *h, unsigned what,
                            const struct redisReply *reply);
void handshake_ask_scripts(struct redis_handshake *h);
bool handshake_take_script(struct redis_handshake *h, unsigned what,
                           const struct redisReply *reply);

#endif
