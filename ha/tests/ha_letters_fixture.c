#include "ha/tests/ha_letters_fixture.h"

#include <stdlib.h>

#include "ha/tests/ha_fixture.h"

struct letter {
    struct list link;
    int from, to;
    bool is_promise;
    struct peer_question question;
};

static struct list letters;

static void post(int from, int to, bool is_promise, const struct peer_question *question)
{
    struct letter *l = calloc(1, sizeof(*l));

    *l = (struct letter){
        .from = from, .to = to, .is_promise = is_promise, .question = *question};
    list_append(&letters, &l->link);
}

static int index_of(const struct peers *p)
{
    for (int i = 0; i < NODES; i++) {
        if (p == &nodes[i].peers)
            return i;
    }
    abort();
}

static void peers_ask_all(struct peers *p, const struct peer_question *question)
{
    for (int to = 0; to < NODES; to++) {
        if (&nodes[to].peers != p)
            post(index_of(p), to, false, question);
    }
}

static void peers_note_set(struct peers *p, const struct peer_name *names, unsigned count)
{
    nodes[index_of(p)].peer_count = count;
}

static void peers_note_report(struct peers *p, const struct coord_credentials *mine)
{
    nodes[index_of(p)].reported = *mine;
}

static void peers_note_leave(struct peers *p)
{
    nodes[index_of(p)].is_left = true;
}

const struct peers_ops letters_ops = {.set = peers_note_set,
                                      .report = peers_note_report,
                                      .ask = peers_ask_all,
                                      .leave = peers_note_leave};

static void deliver(struct letter *l)
{
    struct test_node *from = &nodes[l->from], *to = &nodes[l->to];

    if (!from->is_alive || !to->is_alive || from->is_silent || to->is_silent)
        return;
    if (l->is_promise)
        to->peers.on_promise(&to->peers, from->name, l->question.seq);
    else if (to->peers.on_question(&to->peers, from->name, &l->question))
        post(l->to, l->from, true, &l->question);
}

void letters_deliver(void)
{
    struct list arrived;
    struct list *link;

    list_init(&arrived);
    list_append_all(&arrived, &letters);
    while ((link = list_pop(&arrived))) {
        struct letter *l = CONTAINER_OF(link, struct letter, link);

        if (nodes[l->to].is_alive && nodes[l->to].is_frozen) {
            list_append(&letters, link);
            continue;
        }
        deliver(l);
        free(l);
    }
}

void letters_init(void)
{
    list_init(&letters);
}

void letters_fini(void)
{
    while (!list_is_empty(&letters))
        free(CONTAINER_OF(list_pop(&letters), struct letter, link));
}
