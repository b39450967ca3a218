#include "ha/sim/plant.h"

#include <stdio.h>
#include <string.h>

#include "ha/state.h"

static enum plant planted;

static const struct {
    const char *word, *what;
} plants[] = {
#define X(name, word, what) {word, what},
    PLANT_LIST(X)
#undef X
};

bool sim_plant(const char *word)
{
    for (unsigned i = 0; i < PLANT_COUNT; i++) {
        if (!strcmp(word, plants[i].word)) {
            planted = (enum plant)i;
            return true;
        }
    }
    return false;
}

bool sim_is_planted(enum plant plant)
{
    return planted == plant;
}

void sim_plant_list(void)
{
    for (unsigned i = 0; i < PLANT_COUNT; i++)
        printf("  %-16s %s\n", plants[i].word, plants[i].what);
}

/* ---- in the core's place ---- */

/* The linker's names: __real_ is the core's function, __wrap_ is called in its place. */
bool __real_ha_may_act(const struct ha *ha);
bool __wrap_ha_may_act(const struct ha *ha);
void __real_coord_request_write(struct coord_request *r, const struct coord_change *changes,
                                unsigned count);
void __wrap_coord_request_write(struct coord_request *r, const struct coord_change *changes,
                                unsigned count);
int64_t __real_write_lease_until(const struct write_lease *l);
int64_t __wrap_write_lease_until(const struct write_lease *l);
bool __real_failsafe_has_promised(const struct failsafe_promise *p, int64_t now_boot_ms);
bool __wrap_failsafe_has_promised(const struct failsafe_promise *p, int64_t now_boot_ms);

bool __wrap_ha_may_act(const struct ha *ha)
{
    if (planted == PLANT_NO_STEP_DOWN)
        return ha->role.state == ROLE_LEADER && ha->lead.is_mine && !ha->is_fenced;
    return __real_ha_may_act(ha);
}

/* PING_LEASE: a beat only reads. */
void __wrap_coord_request_write(struct coord_request *r, const struct coord_change *changes,
                                unsigned count)
{
    const struct coord_change *last = &changes[count - 1];

    if (planted == PLANT_PING_LEASE && last->kind == COORD_SET && strstr(last->path, "/nodes/"))
        coord_request_read(r, last->path, false);
    else
        __real_coord_request_write(r, changes, count);
}

/* When the newest write of this lead was sent. */
static int64_t newest_write(const struct write_lease *l)
{
    int64_t sent_ms = INT64_MIN;

    for (unsigned i = 0; i < l->led.count; i++) {
        if (l->led.kept[i].sent_ms > sent_ms)
            sent_ms = l->led.kept[i].sent_ms;
    }
    return sent_ms;
}

int64_t __wrap_write_lease_until(const struct write_lease *l)
{
    if (planted != PLANT_WRITE_LEASE)
        return __real_write_lease_until(l);
    return l->led.count ? newest_write(l) + l->session_ms * 2 / 3 : INT64_MIN;
}

bool __wrap_failsafe_has_promised(const struct failsafe_promise *p, int64_t now_boot_ms)
{
    return planted != PLANT_FORGETS_PROMISE && __real_failsafe_has_promised(p, now_boot_ms);
}
