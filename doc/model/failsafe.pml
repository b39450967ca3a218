/*
 * ZooKeeper gone, with ha.on_zookeeper_loss = failsafe: the leader goes on while every member
 * confirms over the peer link. Two nodes.
 *
 * A member that confirms promises not to become leader for PROMISE units from the receipt; the
 * leader counts them from its send. It may do so whether it has a quorum or not, because it cannot
 * be certain of either: a promise is safe whoever gives it. Whoever starts may have forgotten a
 * promise and waits one out. The leader knows as a member every node that it tried to add.
 *
 * Checked: never two nodes that act, by a lease or by confirmation; and when the faults are
 * over, somebody acts within PATIENCE units.
 *
 * Left out, and why that is sound: the beat is one step, since lease.pml shows that a lease
 * does not outlive the session; fencing and the ways to prove a death are in lead.pml. Until
 * the faults are over nothing is prompt: a request of any kind waits as long as it likes, a
 * node acts when it likes. An election or the adding of a member may be done long after the
 * node lost its link: a proposal without a quorum can be committed when the quorum is back.
 * Faults are without number: the quorum is lost and comes back (with fresh sessions), links to
 * ZooKeeper are cut, nodes restart.
 *
 * Variants that must fail: FORGETS (a restarted node does not wait), LATE_ELECTION (the promise
 * is looked at when a node stands, not when it finds itself elected), LEADER_CONFIRMS (a leader
 * in failsafe has no quorum itself, and confirms an older leader), COUNT_LATE (a new member is
 * asked only when its adding was acknowledged), FROM_RECEIPT (the leader counts the promise
 * from the answer).
 */
#define T 2       /* the session's length, and the lease's, in units */
#define PROMISE 2
#ifndef PATIENCE
#define PATIENCE 3
#endif

/* ---- ZooKeeper ---- */
#define NOBODY 0
#define FORMER 3     /* the session of a worker that has restarted since; else node + 1 */
bool quorum = true;
byte owner = NOBODY; /* of the leader znode */
byte left = 0;       /* of the owner's session */
bool member[2];
bool attempt[2];     /* an election is under way */
bool adds[2];        /* the adding of the other node is */

/* ---- the nodes ---- */
bool cut[2];     /* no link to ZooKeeper */
bool leads[2];
bool knows[2];   /* as leader: the other node is, or may be, a member */
byte lease[2];   /* by ZooKeeper */
byte confirmed[2]; /* by the member */
byte promise[2]; /* not to become leader: given, or after a start waited out */
bool beaten[2];

/* ---- the peer link: what the leader asks ---- */
mtype = { NOTHING, ASKED, YES };
mtype asks[2] = NOTHING;
byte age[2];

bool over = false; /* no more faults */
byte without_leader = 0;

#define PEER(n) (1 - n)
#define ONLINE(n) (quorum && !cut[n])
#define ACTS(n) (leads[n] && (lease[n] || confirmed[n]))
#ifdef LATE_ELECTION
#define MAY_LEAD(n) true
#else
#define MAY_LEAD(n) (!promise[n])
#endif
#ifdef LEADER_CONFIRMS
#define MAY_CONFIRM(n) (!leads[n] || !ONLINE(n))
#else
#define MAY_CONFIRM(n) (!leads[n])
#endif

#define CAN_STAND(n) (ONLINE(n) && !leads[n] && !owner && member[n] && !promise[n] && !attempt[n])
#define CAN_TAKE(n) (ONLINE(n) && !leads[n] && owner == n + 1 && MAY_LEAD(n))
#define CAN_BEAT(n) (ONLINE(n) && owner == n + 1 && !beaten[n])
#define CAN_LEARN(n) (ONLINE(n) && leads[n] && owner != n + 1)
#define CAN_ELECT(n) (quorum && attempt[n])
#define BUSY(n) (CAN_STAND(n) || CAN_TAKE(n) || CAN_BEAT(n) || CAN_LEARN(n) || CAN_ELECT(n))

inline one_leader() {
    assert(!(ACTS(0) && ACTS(1)))
}

inline step_down(n) {
    leads[n] = false;
    knows[n] = false;
    lease[n] = 0;
    confirmed[n] = 0;
    asks[n] = NOTHING;
    age[n] = 0
}

inline confirm(n, since) {
    if
    :: since < PROMISE -> confirmed[n] = PROMISE - since; one_leader()
    :: else
    fi
}

proctype node(byte n) {
    do
    :: atomic { CAN_STAND(n) -> attempt[n] = true }
    :: atomic { CAN_TAKE(n) -> leads[n] = true; knows[n] = member[PEER(n)] }
    :: atomic {
           CAN_BEAT(n) ->
           beaten[n] = true;
           left = T;
           if
           :: leads[n] -> lease[n] = T; one_leader()
           :: else
           fi
       }
    :: atomic { CAN_LEARN(n) -> step_down(n) }
    :: atomic {
           leads[n] && lease[n] && !member[PEER(n)] && !adds[n] ->
           adds[n] = true;
#ifndef COUNT_LATE
           knows[n] = true;
#endif
#ifndef ADD_KEEPS
           confirmed[n] = 0 /* it was not asked for that */
#endif
       }
    :: atomic { ONLINE(n) && leads[n] && owner == n + 1 && member[PEER(n)] -> knows[n] = true }

    /* failsafe */
    :: atomic { leads[n] && !ONLINE(n) && !knows[n] -> confirm(n, 0) } /* nobody to ask */
    :: atomic { leads[n] && !ONLINE(n) && knows[n] && asks[n] == NOTHING -> asks[n] = ASKED }
    :: atomic { asks[n] == ASKED && MAY_CONFIRM(PEER(n)) ->
           promise[PEER(n)] = PROMISE; asks[n] = YES }
    :: atomic {
           asks[n] == YES ->
#ifdef FROM_RECEIPT
           confirm(n, 0);
#else
           confirm(n, age[n]);
#endif
           asks[n] = NOTHING;
           age[n] = 0
       }
    :: atomic { asks[n] != NOTHING -> asks[n] = NOTHING; age[n] = 0 } /* refused, or lost */
    od
}

proctype zookeeper(byte n) {
    do
    :: atomic {
           CAN_ELECT(n) ->
           attempt[n] = false;
           if
           :: owner == NOBODY ->
              owner = n + 1;
              left = T;
#ifndef ADD_UNCHECKED
              adds[0] = false; adds[1] = false /* multi { check epoch, .. } will fail */
#endif
           :: else
           fi
       }
    :: attempt[n] -> attempt[n] = false /* lost */
    :: atomic {
           quorum && adds[n] ->
           adds[n] = false;
           if
           :: owner == n + 1 -> member[PEER(n)] = true
           :: else
           fi
       }
    :: adds[n] -> adds[n] = false
    od
}

proctype faults(byte n) {
    do
    :: !over && n == 0 && quorum -> quorum = false
    :: atomic { n == 0 && !quorum -> quorum = true; left = (owner -> T : 0) }
    :: !over && !cut[n] -> cut[n] = true
    :: cut[n] -> cut[n] = false
    :: atomic {
           !over -> /* the node restarts */
           step_down(n);
           attempt[n] = false;
           adds[n] = false;
#ifdef FORGETS
           promise[n] = 0;
#else
           promise[n] = PROMISE;
#endif
           if
           :: owner == n + 1 -> owner = FORMER
           :: else
           fi
       }
    :: n == 0 && !over -> over = true
    od
}

inline shrink(counter) {
    if
    :: counter > 0 -> counter--
    :: else
    fi
}

#define HEALTHY (over && quorum && !cut[0] && !cut[1])

proctype clock() {
    byte i;
    do
    :: atomic {
           !over || (!BUSY(0) && !BUSY(1)) ->
           for (i : 0 .. 1) {
               shrink(lease[i]);
               shrink(confirmed[i]);
               shrink(promise[i]);
               beaten[i] = false;
               if
               :: asks[i] != NOTHING && age[i] < PROMISE -> age[i]++
               :: else
               fi
           }
           i = 0;
           if
           :: quorum && left -> left--; owner = (left -> owner : NOBODY)
           :: else
           fi;
           if
           :: HEALTHY && !ACTS(0) && !ACTS(1) ->
              without_leader++;
              assert(without_leader <= PATIENCE)
           :: else -> without_leader = 0
           fi
       }
    od
}

init {
    byte i;
    atomic {
        member[0] = true;
        if
        :: member[1] = true
        :: true
        fi;
        for (i : 0 .. 1) {
            run node(i);
            run zookeeper(i);
            run faults(i)
        }
        run clock();
        i = 0
    }
}
