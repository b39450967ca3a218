#include "ha/rule/role.h"

#include <assert.h>

#include "base/log.h"

static const char *const words[] = {
#define X(name, word) word,
    ROLE_LIST(X)
#undef X
};

static const struct {
    const char *word, *text;
} reasons[] = {
#define X(name, word, text) {word, text},
    ROLE_REASON_LIST(X)
#undef X
};

/* The arrows of the diagram: the reasons of each, as bits. */
#define R(name) (1u << ROLE_##name##_REASON)

static const unsigned arrows[ROLE_COUNT][ROLE_COUNT] = {
    [ROLE_OFFLINE][ROLE_STANDBY] = R(JOINED),
    [ROLE_OFFLINE][ROLE_LEADER] = R(RESUMED),
    [ROLE_STANDBY][ROLE_LEADER] = R(ELECTED) | R(FORCED) | R(RESUMED),
    [ROLE_STANDBY][ROLE_OFFLINE] = R(DISCONNECTED) | R(EXPIRED) | R(STOPPING),
    [ROLE_LEADER][ROLE_DRAINING] =
        R(STOPPING) | R(SWITCHOVER) | R(PREFERRED) | R(STORE_AWAY) | R(ADDRESS_AWAY),
    [ROLE_LEADER][ROLE_STANDBY] = R(FENCED) | R(OTHER_ENSEMBLE) | R(DEPOSED),
    [ROLE_LEADER][ROLE_OFFLINE] = R(LEASE_OVER) | R(EXPIRED),
    [ROLE_DRAINING][ROLE_LEADER] = R(NOT_TAKEN),
    [ROLE_DRAINING][ROLE_STANDBY] = R(HANDED_OVER) | R(FENCED) | R(OTHER_ENSEMBLE) | R(DEPOSED),
    [ROLE_DRAINING][ROLE_OFFLINE] = R(LEASE_OVER) | R(EXPIRED) | R(STOPPING),
};

void role_init(struct role *r, void (*on_change)(struct role *role, enum role_state before))
{
    *r = (struct role){
        .state = ROLE_OFFLINE, .reason = ROLE_STARTED_REASON, .on_change = on_change};
}

void role_enter(struct role *r, enum role_state to, enum role_reason why, int64_t now_boot_ms)
{
    enum role_state before = r->state;
    char token[TOKEN_TEXT_LEN + 1];

    assert(to < ROLE_COUNT && why < ROLE_REASON_COUNT);
    assert(arrows[before][to] & (1u << why));
    assert(to != ROLE_LEADER || !token_is_none(&r->token));

    r->state = to;
    r->reason = why;
    r->since_boot_ms = now_boot_ms;
    r->entered[to][why]++;
    token_print(&r->token, token);
    LOG_INFO("ha", "role: %s -> %s reason=%s token=%s (%s)", role_word(before), role_word(to),
             role_reason_word(why), token, reasons[why].text);
    r->on_change(r, before);
}

const char *role_word(enum role_state state)
{
    assert(state < ROLE_COUNT);
    return words[state];
}

const char *role_reason_word(enum role_reason reason)
{
    assert(reason < ROLE_REASON_COUNT);
    return reasons[reason].word;
}
