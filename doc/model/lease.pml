/*
 * The lease against the session: may the leader still believe in its lease when ZooKeeper has
 * expired its session, so that another node can be elected?
 *
 *   node ---to_follower---> follower ---up-----> ZooKeeper's leader
 *        <---to_node-------          <---down---
 *
 * Only ZooKeeper's leader keeps the deadline of the session. A follower answers reads and pings
 * by itself, notes the session as touched, and reports that in its reply to the next ping of
 * ZooKeeper's leader. A write goes up and comes back committed, and touches nothing on its way
 * but the follower's note. All four streams are first in, first out, as TCP is.
 *
 * One time unit is T/12. The model follows only the requests that make one lease: "touch" (u),
 * then "write" (w), for some formulas then a second write. Every other request of the node is
 * left out. That is sound: it could only touch the session once more. What was before is any
 * rest of the session's time, so beats may have come as late as one likes; expiry is exact
 * where ZooKeeper rounds it up. Commits need no answer of this follower: there is a third
 * server. The node and its link to the follower may be slow without bound; between the servers
 * everything is done within the unit, unless a fault holds it. A node that moves to another
 * server, and a new leader of ZooKeeper, touch the session where it counts: left out too.
 *
 * FAULTS of them begin, each ends at any time or never:
 *   1 the follower is frozen    2 the two servers are cut apart
 *   4 cut in one direction      8 ZooKeeper's leader is frozen      (KINDS is their sum)
 * A cut holds the stream back; a stream that is lost is one that is held for ever. ANY_FAULTS
 * is any number of 1, 2 and 4: the servers wait for each other as long as they like.
 *
 * FORMULA says which lease the node counts; see below.
 */
#define T 12
#define GAP 3        /* T/4: for the follower's report */
#define APART 1      /* T/12: between an answer and the write that makes the lease */
#define WRITE_PART 8 /* 2T/3, where the lease counts from one request */
#define AGED 15

#ifndef TOUCH_PART
#define TOUCH_PART T /* where it counts from u; the node counts 0.95 T, the rest is in reserve */
#endif

#ifndef PING_EVERY
#define PING_EVERY 2 /* half a tick of ZooKeeper: here T is three ticks */
#endif
#ifndef FAULTS
#define FAULTS 0
#endif
#ifndef KINDS
#define KINDS 15
#endif

#define LEFT(part, since) (since < part -> part - since : 0)
#define TOUCHED LEFT(TOUCH_PART, age[0])

/* LAST: number of the last request. IS_WRITE: is request r a write. MAY_SEND: its condition. */
#define PING_ONLY 1  /* an answered ping makes the lease */
#define WRITE_ONLY 2 /* an acknowledged write makes it */
#define SENT 3       /* u was sent T/4 before w was */
#define ACKED 4      /* u was acknowledged T/4 before w was sent */
#define PROVEN 5     /* and w was acknowledged before the write that makes the lease was sent */

#if FORMULA == PING_ONLY
#define LAST 0
#define IS_WRITE(r) false
#define MAY_SEND(r) true
#define LEASE LEFT(WRITE_PART, age[0])
#elif FORMULA == WRITE_ONLY
#define LAST 0
#define IS_WRITE(r) true
#define MAY_SEND(r) true
#define LEASE LEFT(WRITE_PART, age[0])
#elif FORMULA == SENT
#define LAST 1
#define IS_WRITE(r) (r == 1)
#define MAY_SEND(r) (r == 0 || age[0] >= GAP)
#define LEASE TOUCHED
#elif FORMULA == ACKED
#define LAST 1
#define IS_WRITE(r) (r == 1)
#define MAY_SEND(r) (r == 0 || (acked == 1 && since_ack >= GAP))
#define LEASE TOUCHED
#elif FORMULA == PROVEN
#define LAST 2
#define IS_WRITE(r) (r >= 1)
#define MAY_SEND(r) (r == 0 || (acked == r && since_ack >= (r == 1 -> GAP : APART)))
#define LEASE TOUCHED
#endif

#define PING 9 /* on `down`, beside committed writes; on `up` the reply that reports a touch */

chan to_follower = [3] of { byte };
chan to_node = [3] of { byte };
chan up = [4] of { byte };
chan down = [4] of { byte };

byte next = 0;      /* the request the node sends next */
byte age[3] = 0;    /* since request r was sent */
byte acked = 0;     /* answers received */
byte since_ack = 0; /* since the newest of them */
byte lease = 0;     /* what is left of it; the node acts while it is above 0 */

bool noted = false; /* the follower's note that the session was touched */
byte session;       /* what is left of it at ZooKeeper's leader */
bool expired = false;
byte since_ping;

byte budget = FAULTS;
bool follower_frozen = false;
bool leader_frozen = false;
bool up_held = false;
bool down_held = false;

/* When the session has expired another node may hold a valid lease at once. */
inline one_leader() {
#ifdef COVER
    assert(lease == 0) /* must fail: the model does get a lease */
#else
    assert(!(expired && lease > 0))
#endif
}

proctype node() {
    byte r;
    do
    :: atomic { next <= LAST && MAY_SEND(next) -> to_follower!next; next++ }
    :: atomic {
           to_node?r ->
           acked++;
           since_ack = 0;
           if
           :: r == LAST -> lease = LEASE
           :: else
           fi;
           r = 0;
           one_leader()
       }
    od
}

proctype follower() {
    byte r;
    do
    :: atomic { /* from the node */
           !follower_frozen && nempty(to_follower) ->
           to_follower?r;
           noted = true;
           if
           :: IS_WRITE(r) -> up!r
           :: else -> to_node!r
           fi;
           r = 0
       }
    :: atomic { /* from ZooKeeper's leader; another thread than the one above */
           !follower_frozen && !down_held && nempty(down) ->
           down?r;
           if
           :: r != PING -> to_node!r
           :: r == PING && noted -> up!PING; noted = false
           :: else /* a reply that reports nothing */
           fi;
           r = 0
       }
    od
}

proctype zookeeper_leader() {
    byte r;
    do
    :: atomic {
           !leader_frozen && !up_held && nempty(up) ->
           up?r;
           if
           :: r == PING && !expired -> session = T
           :: r != PING && !expired -> down!r
           :: else /* of an expired session */
           fi;
           r = 0
       }
    :: atomic { /* a second ping behind one that waits would change nothing */
           !leader_frozen && since_ping == PING_EVERY ->
           since_ping = 0;
           if
           :: down??[PING]
           :: else -> down!PING
           fi
       }
    :: atomic { !leader_frozen && session == 0 && !expired -> expired = true; one_leader() }
    od
}

proctype faults() {
    do
    :: atomic { budget && (KINDS & 1) && !follower_frozen -> follower_frozen = true; budget-- }
    :: atomic { budget && (KINDS & 2) && !up_held && !down_held ->
           up_held = true; down_held = true; budget-- }
    :: atomic { budget && (KINDS & 4) && !up_held -> up_held = true; budget-- }
    :: atomic { budget && (KINDS & 4) && !down_held -> down_held = true; budget-- }
    :: atomic { budget && (KINDS & 8) && !leader_frozen -> leader_frozen = true; budget-- }
    :: follower_frozen -> follower_frozen = false
    :: atomic { up_held || down_held -> up_held = false; down_held = false }
    :: leader_frozen -> leader_frozen = false
    od
}

inline grow(counter, most) {
    if
    :: counter < most -> counter++
    :: else
    fi
}

inline shrink(counter) {
    if
    :: counter > 0 -> counter--
    :: else
    fi
}

/* Time passes when the servers have done what they can. */
#ifdef ANY_FAULTS
#define SETTLED (since_ping < PING_EVERY)
#else
#define SETTLED \
    ((leader_frozen || (since_ping < PING_EVERY && (up_held || empty(up)))) && \
     (follower_frozen || down_held || empty(down)))
#endif

proctype clock() {
    byte r;
    do
    :: atomic {
           SETTLED ->
           for (r : 0 .. LAST) {
               if
               :: r < next -> grow(age[r], AGED)
               :: else
               fi
           }
           r = 0;
           grow(since_ack, GAP);
           grow(since_ping, PING_EVERY);
           shrink(session);
           shrink(lease)
       }
    od
}

init {
    atomic {
        select(session : 1 .. T);
        select(since_ping : 0 .. PING_EVERY - 1);
        run node();
        run follower();
        run zookeeper_leader();
        run faults();
        run clock()
    }
}
