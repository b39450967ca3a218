/*
 * The lead given away in order: a leader that is to be another drains, and deletes the leader
 * znode. The answer may be lost with the connection, and the request be withdrawn meanwhile.
 *
 * From the send of a give-away on a node does nothing as the leader: it is in DOUBT until a beat
 * that was sent after it has found the znode there, under the lead's own epoch. A beat that was
 * on its way already says nothing of it, nor does a lost connection.
 *
 * Checked: never two nodes that act; and when the faults are over and each has done what it can,
 * one of them acts.
 *
 * Left out, and why that is sound: time. A lease runs out when it likes, and a session ends when
 * it likes, but not under a lease, nor under one that an answer could still bring: that is what
 * lease.pml shows. Deaths and fencing are in lead.pml. ZooKeeper is one thing that answers the
 * requests of a connection in their order. It may do those of a lost connection as late as it
 * likes, but none once the session has moved to another one: OVERTAKEN shows that all rests on
 * that. A read is current, but it is only used to drop a lead, or to find that one's own
 * election was won. Until the faults are over a lead may also be given away without a request, and
 * a give-away be refused without a reason. Faults are without number; so many ELECTIONS until
 * then.
 *
 * Variants that must fail: LOST_IS_NOT_DONE (a give-away that is lost with its connection is
 * taken for not done), ANY_BEAT (any beat's answer clears the doubt, also one sent before the
 * give-away), UNTIED (a beat finds any leader znode, its epoch is not looked at),
 * GIVE_UNCHECKED (a give-away deletes any), OVERTAKEN (one of a lost connection is done after a
 * beat of the next one), FOR_EVER (no beat clears the doubt: nobody leads again).
 */
#define ELECTIONS 2 /* after the first */

mtype = { ELECT, BEAT, GIVE, OFFLINE, LEADER, DRAINING }; /* requests, and roles */

/* ---- ZooKeeper ---- */
#define NOBODY 0
byte owner = NOBODY; /* of the leader znode: node + 1 */
byte epoch = 0;
bool wanted = false; /* an operator wants another leader */
byte late[2]; /* OVERTAKEN: the epoch of a give-away of a lost connection; 0: none */
chan asks[2] = [3] of { mtype, byte };    /* what, and under which epoch */
chan answers[2] = [3] of { mtype, byte }; /* to what: the epoch, 0: refused */

/* ---- the nodes ---- */
bool online[2] = true;
mtype role[2] = OFFLINE; /* or a standby */
byte mine[2];   /* the epoch of its lead; 0: none */
bool doubt[2];  /* that may be given away */
bool lease[2];  /* not run out */
bool giving[2]; /* a give-away is unanswered */
bool asked[2];  /* a beat is, or an election */
bool worth[2];  /* and sent so lately that its answer brings a lease */
bool proves[2]; /* it was sent after the newest give-away */
bool beaten[2]; /* since the faults are over */

bool over = false; /* no more faults, and no more requests */

#ifdef UNTIED
#define FINDS(its) owner
#else
#define FINDS(its) (owner && its == epoch)
#endif
#ifdef GIVE_UNCHECKED
#define DELETES(its) owner
#else
#define DELETES(its) (owner && its == epoch)
#endif

#define ACTS(n) (role[n] == LEADER && lease[n] && !doubt[n])

/* What each can do. */
#define CAN_STAND(n) (online[n] && !mine[n] && !owner && !asked[n] && (over || epoch <= ELECTIONS))
#define CAN_TAKE(n) (online[n] && !mine[n] && owner == n + 1 && !asked[n] && !giving[n])
#define CAN_LEARN(n) (online[n] && mine[n] && (owner != n + 1 || mine[n] != epoch))
#define CAN_BEAT(n) (online[n] && mine[n] && !asked[n] && !beaten[n])
#define CAN_LEAD(n) (mine[n] && lease[n] && !doubt[n] && !giving[n] && role[n] != LEADER && \
                     (role[n] == OFFLINE || !wanted))
#define CAN_GIVE(n) (online[n] && mine[n] && role[n] == DRAINING && wanted && !giving[n])
#define CAN_HEAR(n) (len(answers[n]))
#define CAN_DO(n) (online[n] && len(asks[n]))
#define BUSY(n) (CAN_STAND(n) || CAN_TAKE(n) || CAN_LEARN(n) || CAN_BEAT(n) || CAN_LEAD(n) || \
                 CAN_GIVE(n) || CAN_HEAR(n) || CAN_DO(n))

inline one_leader() {
    assert(!(ACTS(0) && ACTS(1)))
}

inline take(n, its) {
    mine[n] = its;
    doubt[n] = false;
    lease[n] = false;
    role[n] = OFFLINE
}

inline ask(n, what) {
    asks[n] ! what, mine[n];
    asked[n] = true;
    worth[n] = true;
    proves[n] = true
}

inline settle(n) { /* the beat, or the election */
    asked[n] = false;
    worth[n] = false;
    proves[n] = false
}

inline give_away(n) {
    asks[n] ! GIVE, mine[n];
    giving[n] = true;
    doubt[n] = true;
#ifndef ANY_BEAT
    proves[n] = false
#endif
}

inline hear(n) {
    if
    :: what == GIVE && its -> take(n, 0)
    :: what == ELECT && its -> take(n, its); lease[n] = worth[n]
    :: what == BEAT && its && its == mine[n] ->
       lease[n] = lease[n] || worth[n];
#ifndef FOR_EVER
       doubt[n] = doubt[n] && !proves[n]
#endif
    :: else /* refused, or of another lead: a read tells the rest */
    fi;
    if
    :: what == GIVE -> giving[n] = false
    :: else -> settle(n)
    fi;
    one_leader()
}

proctype node(byte n) {
    mtype what;
    byte its;
    do
    :: atomic { CAN_STAND(n) -> ask(n, ELECT) }
    :: atomic { CAN_TAKE(n) -> take(n, epoch) } /* without a lease, until a beat */
    :: atomic { CAN_LEARN(n) -> take(n, 0) }
    :: atomic { CAN_BEAT(n) -> beaten[n] = over; ask(n, BEAT) }
    :: atomic { CAN_LEAD(n) -> role[n] = LEADER; one_leader() }
    :: atomic { role[n] == LEADER && wanted -> role[n] = DRAINING }
    :: atomic { CAN_GIVE(n) -> give_away(n) }
    :: atomic { /* it has promised, or has had no lease for long */
           !over && online[n] && mine[n] && role[n] == OFFLINE && !giving[n] -> give_away(n) }
    :: atomic { CAN_HEAR(n) -> answers[n] ? what, its; hear(n); what = 0; its = 0 }
    od
}

inline answer(n) {
    if
    :: online[n] -> answers[n] ! what, its
    :: else
    fi
}

inline forget(channel) {
    do
    :: channel ? what, its -> skip
    :: empty(channel) -> break
    od
}

proctype zookeeper(byte n) {
    mtype what;
    byte its;
    do
    :: atomic {
           asks[n] ? what, its ->
           if
           :: what == ELECT && !owner -> /* it checks the request, and carries it out */
              epoch++; owner = n + 1; wanted = false; its = epoch
           :: what == BEAT && FINDS(its)
           :: what == GIVE && DELETES(its) -> owner = NOBODY
           :: else -> its = 0
           fi;
           answer(n); what = 0; its = 0
       }
    :: atomic { /* refused */
           !over && asks[n] ? [GIVE, its] -> asks[n] ? what, its; its = 0; answer(n); what = 0 }

    /* the connection is lost; the session goes on with another one */
    :: atomic {
           !over && online[n] ->
           online[n] = false;
           forget(answers[n]);
           giving[n] = false; settle(n); what = 0; its = 0;
#ifdef LOST_IS_NOT_DONE
           doubt[n] = false
#endif
       }
    :: atomic {
           !online[n] ->
#ifdef OVERTAKEN
           if
           :: asks[n] ?? GIVE, its -> late[n] = its
           :: true
           fi;
#endif
           forget(asks[n]); online[n] = true; what = 0; its = 0
       }
    :: atomic { late[n] -> owner = (FINDS(late[n]) -> NOBODY : owner); late[n] = 0 }
    od
}

proctype time(byte n) {
    do
    :: atomic { !over && lease[n] -> lease[n] = false; role[n] = OFFLINE }
    :: atomic { !over && worth[n] -> worth[n] = false }
    :: atomic { !over && owner == n + 1 && !lease[n] && !worth[n] -> owner = NOBODY }
    od
}

proctype operator() {
    do
    :: atomic { !over && !wanted -> wanted = true }
    :: atomic { wanted -> wanted = false }
    :: atomic { !over -> over = true }
    :: atomic {
           over && online[0] && online[1] && !BUSY(0) && !BUSY(1) ->
           assert(ACTS(0) || ACTS(1)) /* one leads again */
       }
    od
}

init {
    atomic { /* the first one leads */
        epoch = 1; owner = 1; mine[0] = 1;
        run node(0); run zookeeper(0); run time(0);
        run node(1); run zookeeper(1); run time(1);
        run operator()
    }
}
