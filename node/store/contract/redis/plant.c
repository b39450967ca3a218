#include "node/store/contract/redis/plant.h"

#include <stdio.h>

#include "node/store/packed.h"

/* ---- by hand ---- */

long long plant(const char *verb, char letter, const char *rest)
{
    char command[256];

    snprintf(command, sizeof(command), "%s %s %s", verb, contract_key(letter), rest);
    return redis_fixture_command(contract_redis_fixture(), command);
}

void plant_score(char letter, const char *id, int64_t score)
{
    char rest[64];

    snprintf(rest, sizeof(rest), "%lld %s", (long long)score, id);
    plant("ZADD", letter, rest);
}

/* An entry of the ready list, or of q. */
static struct bytes entry_of(const struct job *job)
{
    static char entry[64];

    packed_put(entry, 6, job->stamp);
    memcpy(entry + 6, job->id.at, job->id.len);
    return bytes_of(entry, 6 + job->id.len);
}

void plant_entry(const char *format, char letter, const struct job *job)
{
    struct bytes entry = entry_of(job);

    redis_fixture_command(contract_redis_fixture(), format, contract_key(letter), entry.at,
                          entry.len);
}

void plant_value(const char *id, const char *value, size_t len)
{
    redis_fixture_command(contract_redis_fixture(), "HSET %s %s %b", contract_key('j'), id,
                          value, len);
}

void assert_nothing_stays(void)
{
    for (const char *letter = "jpdrqvxetoacw"; *letter; letter++)
        assert_int_equal(plant("EXISTS", *letter, ""), 0);
}

/* ---- looking and mending ---- */

struct found found;

void audit(void)
{
    struct op op = {.verb = OP_AUDIT, .topic = TOPIC};

    memset(&found, 0, sizeof(found));
    do {
        struct op page = run_well(op);

        assert_in_range(page.out.audit.looked_at, 0, 1000);
        assert_in_range(page.out.audit.count, 0, OP_LIST_MAX);
        for (unsigned i = 0; i < page.out.audit.count; i++) {
            assert_true(found.count < SUSPECTS_MAX);
            found.items[found.count++] = page.out.audit.items[i];
        }
        found.looked_at += page.out.audit.looked_at;
        found.pages++;
        op.in.places.after = page.out.audit.next;
    } while (op.in.places.after.len);
}

void assert_suspect(const char *id, enum damage damage)
{
    for (unsigned i = 0; i < found.count; i++)
        if (bytes_equal(found.items[i].id, bytes_of_text(id)) &&
            found.items[i].damage == damage)
            return;
    fail_msg("'%s' is not told for %s (%u suspects)", id, damage_word(damage), found.count);
}

enum damage mend(const char *id)
{
    return run_well(id_op(OP_REPAIR, id)).out.repair.damage;
}

void assert_mended(const char *id, enum damage damage)
{
    enum damage told;

    audit();
    assert_suspect(id, damage);
    told = mend(id);
    if (told != damage)
        fail_msg("%s was mended as %s", damage_word(damage), damage_word(told));
    assert_int_equal(mend(id), DAMAGE_NONE);
    audit();
    if (found.count)
        fail_msg("afterwards '%.*s' is told for %s", (int)found.items[0].id.len,
                 found.items[0].id.at, damage_word(found.items[0].damage));
}
