#include "ha/rule/failsafe.h"

#include <stdio.h>
#include <string.h>

#include "ha/rule/lease.h"

void failsafe_begin(struct failsafe *f, int64_t session_ms)
{
    f->is_on = true;
    f->session_ms = session_ms;
    f->member_count = 0;
    f->first_seq = f->seq + 1;
}

void failsafe_end(struct failsafe *f)
{
    f->is_on = false;
    f->member_count = 0;
}

static struct failsafe_member *find(struct failsafe *f, const char *name)
{
    for (unsigned i = 0; i < f->member_count; i++) {
        if (!strcmp(f->members[i].name, name))
            return &f->members[i];
    }
    return NULL;
}

void failsafe_add_member(struct failsafe *f, const char *name)
{
    struct failsafe_member *m;

    if (find(f, name))
        return;
    if (f->member_count == PEERS_MAX || strlen(name) > PEER_NAME_MAX) {
        failsafe_end(f);
        return;
    }
    m = &f->members[f->member_count++];
    *m = (struct failsafe_member){.has_promised = false};
    snprintf(m->name, sizeof(m->name), "%s", name);
}

uint64_t failsafe_asked(struct failsafe *f, int64_t now_boot_ms)
{
    f->seq++;
    f->asked_ms[f->seq % FAILSAFE_ASKED_MAX] = now_boot_ms;
    return f->seq;
}

static bool is_remembered(const struct failsafe *f, uint64_t seq)
{
    return seq >= f->first_seq && seq <= f->seq && f->seq - seq < FAILSAFE_ASKED_MAX;
}

void failsafe_promised(struct failsafe *f, const char *name, uint64_t seq)
{
    struct failsafe_member *m = find(f, name);
    int64_t asked_ms;

    if (!f->is_on || !m || !is_remembered(f, seq))
        return;
    asked_ms = f->asked_ms[seq % FAILSAFE_ASKED_MAX];
    if (!m->has_promised || asked_ms > m->asked_ms)
        m->asked_ms = asked_ms;
    m->has_promised = true;
}

int64_t failsafe_until(const struct failsafe *f)
{
    int64_t oldest_ms;

    /* Without a question nothing is promised. A question is enough if there is no other member.
     */
    if (!f->is_on || f->seq < f->first_seq)
        return INT64_MIN;
    oldest_ms = f->asked_ms[f->seq % FAILSAFE_ASKED_MAX];
    for (unsigned i = 0; i < f->member_count; i++) {
        if (!f->members[i].has_promised)
            return INT64_MIN;
        if (f->members[i].asked_ms < oldest_ms)
            oldest_ms = f->members[i].asked_ms;
    }
    return oldest_ms + write_lease_promise_ms(f->session_ms);
}

void failsafe_promise(struct failsafe_promise *p, int64_t now_boot_ms, int64_t session_ms)
{
    int64_t until = now_boot_ms + write_lease_promise_ms(session_ms);

    if (until > p->until_boot_ms)
        p->until_boot_ms = until;
}

bool failsafe_has_promised(const struct failsafe_promise *p, int64_t now_boot_ms)
{
    return now_boot_ms < p->until_boot_ms;
}
