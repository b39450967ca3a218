/*
 * Who leads: election, lease, fencing token, warden and peer link of two nodes, while workers
 * stall and die, machines freeze and vanish, and links to ZooKeeper are cut.
 *
 * Checked: never two nodes with a valid lease; once a leader scans a bucket, no script with an
 * older token moves a job there; no node with a valid lease is fenced; and
 * when the faults are over, somebody leads within PATIENCE units.
 *
 * Left out, and why that is sound:
 * - ZooKeeper is one thing that does one request at a time: this is what its quorum gives. How a
 *   session can end before a lease does is the matter of lease.pml. Here the lease is as long
 *   as the session, the longest that lease.pml allows.
 * - A read is current. A stale one can make a node believe that it leads, but its lease is 0
 *   until a write has checked the epoch.
 * - A request that dies with its worker has been done before the death, or never: done between
 *   the death and the end of the session it would leave the same behind.
 * - One move of a job at a time is late, for as long as it likes, also after its worker's
 *   death; all other scripts arrive at once. Two late ones do nothing that one cannot, and the
 *   assertion of a token that is late is a leader that begins to act later.
 * - What is healthy acts within the unit. Whoever is late is stalled or cut: these are faults.
 * - Who resigns gives the lead up for good: what is taken up again is in handover.pml.
 *
 * What goes wrong, how time passes, and when somebody must lead again is lead_faults.pml: this
 * file is what nodes, warden, ZooKeeper and Redis do.
 *
 * Variants that must fail: PEER_EOF (a reset peer link is taken for death), WARDEN_EARLY (the
 * warden closes the session of a stalled worker before it has killed it), BY_NAME (the owner of
 * the leader znode is known by its name, not its session), NO_FENCE (Redis takes any token),
 * NO_ASSERT (a new leader scans a bucket without asserting its token there first). ROLES_ONLY leaves
 * Redis out, for more faults: it can only make a leader step down.
 */
#define T 2     /* the session's length, and the lease's, in units */
#define BUCKETS 2

mtype = { NOTHING, ELECT, BEAT, RESIGN };

/* ---- ZooKeeper: a session is 1 + 2 * node + incarnation, 0 is none ---- */
byte left[5];   /* of each session; 0 when it has ended */
byte owner = 0; /* the session that holds the leader znode */
byte epoch = 0;

#define NAME(session) ((session - 1) / 2)

inline end_session(session) {
    left[session] = 0;
    if
    :: owner == session -> owner = 0
    :: else
    fi
}

/* ---- Redis ---- */
byte fence[BUCKETS];
byte scanned[BUCKETS]; /* the highest token that scans it */
byte late = 0;  /* token of a move that is under way; 0: none */

/* ---- the nodes ---- */
bool alive[2] = true;  /* the worker runs, or is stalled */
bool warden[2] = true; /* the warden does */
bool stalled[2];       /* the worker is */
bool frozen[2];        /* worker and warden are */
bool cut[2];           /* no link to ZooKeeper */
bool incarnation[2];   /* of the worker: the last bit of its number */

byte session[2];
bool leads[2];
byte token[2];
byte lease[2];  /* what is left of it */
bool beaten[2]; /* it has sent its beat of this unit */

mtype asks[2] = NOTHING; /* the request that is under way to ZooKeeper */
bool done[2];            /* ZooKeeper has done it: the answer is under way */
byte answer[2];          /* 0: refused; else the epoch */
byte age[2];             /* since it was sent */

byte asserted[2]; /* the first so many buckets know the leader's token: it scans them */

byte left_behind[2]; /* the dead worker's session, as the warden knows it */
byte peer_session[2];
bool peer_incarnation[2]; /* the leader's session and incarnation as its peer knows them */

#define PEER(n) (1 - n)
#define RUNS(n) (alive[n] && !stalled[n] && !frozen[n])
#define WATCHES(n) (warden[n] && !frozen[n])
#define ONLINE(n) (RUNS(n) && !cut[n])
#define ITS_SESSION(n) (1 + 2 * n + incarnation[n])
#define IDLE(n) (ONLINE(n) && session[n] && left[session[n]] && asks[n] == NOTHING)
#ifdef BY_NAME
#define OWNS(n) (owner && NAME(owner) == n)
#else
#define OWNS(n) (owner == session[n])
#endif

/* What is healthy does at once; time waits for it. */
#define CAN_CONNECT(n) (ONLINE(n) && !session[n] && !left[ITS_SESSION(n)])
#define CAN_EXPIRE(n) (ONLINE(n) && session[n] && !left[session[n]] && asks[n] == NOTHING)
#define CAN_TAKE(n) (IDLE(n) && !leads[n] && OWNS(n))
#define CAN_STAND(n) (IDLE(n) && !leads[n] && !owner)
#define CAN_BEAT(n) (IDLE(n) && !beaten[n] && (leads[n] || (owner && !OWNS(n))))
#define CAN_DO(n) (asks[n] != NOTHING && !done[n] && !cut[n])
#define CAN_HEAR(n) (asks[n] != NOTHING && done[n] && ONLINE(n))
#define CAN_CLOSE(n) (!alive[n] && WATCHES(n) && left_behind[n] && !cut[n])
#define CAN_START(n) (!alive[n] && WATCHES(n) && (!left_behind[n] || cut[n]))
#define CAN_MEET(n) (RUNS(n) && RUNS(PEER(n)) && leads[PEER(n)] && session[PEER(n)] && \
    (peer_session[n] != session[PEER(n)] || peer_incarnation[n] != incarnation[PEER(n)]))
/* Proof: the port is closed on a machine that lives, or another incarnation answers. */
#define DEAD(n) (!alive[n] || (RUNS(n) && incarnation[n] != peer_incarnation[PEER(n)]))
#define CAN_PROVE(n) (ONLINE(n) && peer_session[n] && DEAD(PEER(n)))
#define BUSY(n) \
    (CAN_CONNECT(n) || CAN_EXPIRE(n) || CAN_TAKE(n) || CAN_STAND(n) || CAN_BEAT(n) || \
     CAN_DO(n) || CAN_HEAR(n) || CAN_CLOSE(n) || CAN_START(n) || CAN_PROVE(n))

inline step_down(n) {
    leads[n] = false;
    token[n] = 0;
    lease[n] = 0;
    asserted[n] = 0
}

inline promote(n, its_token) {
    leads[n] = true;
    token[n] = its_token;
    asserted[n] = 0
}

inline renew(n) { /* counted from the send of what was acknowledged */
    if
    :: age[n] < T -> lease[n] = T - age[n]; assert(!lease[PEER(n)]) /* never two leaders */
    :: else
    fi
}

inline ask(n, what) {
    asks[n] = what;
    age[n] = 0
}

inline forget_request(n) {
    asks[n] = NOTHING;
    done[n] = false;
    answer[n] = 0;
    age[n] = 0
}

inline die(n) {
    alive[n] = false;
    stalled[n] = false;
    left_behind[n] = session[n];
    session[n] = 0;
    peer_session[n] = 0;
    forget_request(n);
    step_down(n)
}

#define ACTS(n) (RUNS(n) && leads[n] && lease[n])

inline assert_token(n) { /* on the next bucket */
#ifndef NO_ASSERT
    assert(token[n] >= fence[asserted[n]]);
    fence[asserted[n]] = token[n];
#endif
    scanned[asserted[n]] = token[n];
    asserted[n]++
}

inline move(its_token, bucket) {
    if
#ifdef NO_FENCE
    :: true ->
#else
    :: its_token >= fence[bucket] ->
#endif
       assert(its_token >= scanned[bucket]); /* no effect of a deposed leader */
       fence[bucket] = its_token
#ifndef NO_FENCE
    :: else -> fenced(its_token)
#endif
    fi
}

inline fenced(its_token) {
    for (i : 0 .. 1) {
        if
        :: leads[i] && token[i] == its_token ->
           assert(!lease[i]);
           step_down(i)
        :: else
        fi
    }
    i = 0
}

proctype worker(byte n) {
    byte i;
    do
    :: atomic { CAN_CONNECT(n) -> session[n] = ITS_SESSION(n); left[session[n]] = T }
    :: atomic { CAN_EXPIRE(n) -> session[n] = 0; step_down(n) }
    :: atomic { CAN_TAKE(n) -> promote(n, epoch) } /* without a lease, until a beat */
    :: atomic { CAN_STAND(n) -> ask(n, ELECT) }
    :: atomic { CAN_BEAT(n) -> beaten[n] = true; ask(n, BEAT) }
    :: atomic { asks[n] != NOTHING && cut[n] && RUNS(n) -> forget_request(n) } /* unknown */
    :: atomic {
           CAN_HEAR(n) ->
           if
           :: asks[n] == ELECT && answer[n] -> promote(n, answer[n]); renew(n)
           :: asks[n] == BEAT && leads[n] && answer[n] -> renew(n)
           :: asks[n] == BEAT && leads[n] && !answer[n] -> step_down(n)
           :: else
           fi;
           forget_request(n)
       }
#ifndef ROLES_ONLY
    :: atomic { ACTS(n) && asserted[n] < BUCKETS -> assert_token(n) }
    :: atomic { ACTS(n) && asserted[n] > 0 -> move(token[n], 0) }
    :: atomic { ACTS(n) && asserted[n] > 1 -> move(token[n], 1) }
    :: atomic { ACTS(n) && asserted[n] > 0 && !late -> late = token[n] }
#endif
    :: atomic { CAN_MEET(n) ->
           peer_session[n] = session[PEER(n)]; peer_incarnation[n] = incarnation[PEER(n)] }
    :: atomic { CAN_PROVE(n) -> end_session(peer_session[n]); peer_session[n] = 0 }
    od
}

proctype zookeeper(byte n) {
    do
    :: atomic {
           CAN_DO(n) ->
           done[n] = true;
           if
           :: !left[session[n]] /* expired: refused */
           :: else ->
              left[session[n]] = T;
              if
              :: asks[n] == ELECT && !owner -> epoch++; owner = session[n]; answer[n] = epoch
              :: asks[n] == BEAT && (!leads[n] || token[n] == epoch) -> answer[n] = epoch
              :: asks[n] == RESIGN && OWNS(n) -> owner = 0; answer[n] = epoch
              :: else
              fi
           fi
       }
    od
}

/* The late script, sent under a lease that may have ended since. */
proctype redis() {
    byte i;
    do
    :: atomic { late -> move(late, 0); late = 0 }
    :: atomic { late -> move(late, 1); late = 0 }
    od
}

proctype watch(byte n) {
    do
    :: atomic { CAN_CLOSE(n) -> end_session(left_behind[n]); left_behind[n] = 0 }
    :: atomic { CAN_START(n) ->
           left_behind[n] = 0; alive[n] = true; incarnation[n] = !incarnation[n] }
    :: atomic { WATCHES(n) && alive[n] && stalled[n] -> die(n) } /* it kills, then waits */
#ifdef WARDEN_EARLY
    :: atomic { WATCHES(n) && alive[n] && stalled[n] && session[n] && !cut[n] ->
           end_session(session[n]) }
#endif
    od
}

#include "lead_faults.pml"

init {
    byte i;
    atomic {
        for (i : 0 .. 1) {
            run worker(i);
            run zookeeper(i);
            run watch(i);
            run faults(i)
        }
        run redis();
        run clock();
        i = 0
    }
}
