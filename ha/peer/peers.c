#include "ha/peer/peers.h"

#include <assert.h>

void peers_set(struct peers *p, const struct peer_name *names, unsigned count)
{
    assert(count <= PEERS_MAX);
    p->ops->set(p, names, count);
}

void peers_tell(struct peers *p, const struct coord_credentials *mine)
{
    p->ops->tell(p, mine);
}

void peers_ask(struct peers *p, const struct peer_question *question)
{
    p->ops->ask(p, question);
}

void peers_leave(struct peers *p)
{
    p->ops->leave(p);
}
