#include "node/store/job.h"

static void put(char *to, unsigned bytes, int64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (char)(uint8_t)((uint64_t)value >> (8 * (bytes - 1 - i)));
}

static int64_t get(const char *from, unsigned bytes)
{
    int64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | (uint8_t)from[i];
    return value;
}

const char *job_state_word(enum job_state state)
{
    static const char *const words[] = {"", "delayed", "ready", "reserved", "dead"};

    return state <= JOB_DEAD ? words[state] : "";
}

void job_pack_header(const struct job *job, char header[JOB_HEADER_BYTES])
{
    header[0] = (char)job->state;
    put(header + 1, 2, job->tries < JOB_TRIES_MAX ? job->tries : JOB_TRIES_MAX);
    put(header + 3, 4, job->ttr_ms);
    put(header + 7, 6, job->due_ms);
    put(header + 13, 6, job->stamp);
    put(header + 19, 5, job->delay_ms);
}

enum status job_unpack(struct bytes packed, struct job *job)
{
    unsigned state;

    if (packed.len < JOB_HEADER_BYTES)
        return STATUS_STORE_ERROR;
    state = (uint8_t)packed.at[0] & JOB_STATE_MASK;
    if (state < JOB_DELAYED || state > JOB_DEAD)
        return STATUS_STORE_ERROR;
    job->state = (enum job_state)state;
    job->tries = (unsigned)get(packed.at + 1, 2);
    job->ttr_ms = get(packed.at + 3, 4);
    job->due_ms = get(packed.at + 7, 6);
    job->stamp = get(packed.at + 13, 6);
    job->delay_ms = get(packed.at + 19, 5);
    job->body = bytes_of(packed.at + JOB_HEADER_BYTES, packed.len - JOB_HEADER_BYTES);
    return STATUS_OK;
}
