/* SPDX-License-Identifier: Apache-2.0
 *
 * One shard of the transport table (lib/table) under quiescence: two readers, two writers, one move
 * into another array (growth, or with -DSHRINK shrinking: the same code). Spin looks at every
 * interleaving of the steps that another thread can see. It takes memory to be sequentially
 * consistent; that release and acquire stand where this needs them is ThreadSanitizer's part
 * (tests/unit/table/threads_test.cpp).
 *
 *   here                 in the code
 *   Reader 0: find()     TransportTable::find(), find_in()
 *   Reader 1: burst()    TransportTable::lookup() of a burst: home bucket first, then find()
 *   report()             the poll loop's quiescent report, io/quiescence.cpp
 *   insert()             TransportTable::insert(), insert_locked(), is_duplicate() = search();
 *                        BucketArray::put(), free_place(), extend()
 *   remove()             TransportTable::remove(); BucketArray::erase() = take_out(),
 *                        drop_empty_tail() = drop_tail()
 *   give_back()          core/lifecycle.cpp, take_down_one(): grace period, then the slot is free
 *   Control              growth.cpp: begin_move(), continue_move(), copy_chain(), free_retired()
 *
 * A bucket has one slot here and ten in the code, so that three entries make a chain of three. Tags
 * are left out: they only save comparisons of keys, and the key decides.
 *
 * Every #ifdef but SHRINK, LONG and ONE_KEY_EACH is a mutation of one step;
 * check_models.py asks spin to refute each of them and to accept the model without any.
 *
 * What must hold:
 *   a reader finds a key that was inserted before its lookup and is not removed meanwhile;
 *   it does not find one that was removed before and is not inserted meanwhile;
 *   it never reads a node or an array whose memory was given away, nor a node not yet written;
 *   what it found stays what it is until its next report;
 *   of equal nodes one is inserted;
 *   at the end the table holds what was inserted and not removed. */

#define BUCKETS 5 /* of an array: one or two homes, the others in the pool */
#define AT(array, position) ((array) * BUCKETS + (position))
#define OLD 0
#define NEW 1
#define NONE 7

/* Keys. Q, K and P make one chain of three in the old array, in this order. */
#define Q 1
#define P 2
#define K 3
#define L 4

#ifdef SHRINK /* two homes -> one */
#define HOME(array, key) ((array) == OLD -> ((key) == L -> 1 : 0) : 0)
#define HOMES(array) ((array) == OLD -> 2 : 1)
#else /* one home -> two */
#define HOME(array, key) ((array) == OLD -> 0 : ((key) == P || (key) == K -> 1 : 0))
#define HOMES(array) ((array) == OLD -> 1 : 2)
#endif

/* Under the lock one step goes on to the next store that a reader can see. Mutations that take no
 * lock, and the long mode, cut it into what other writers could see. */
#if defined(LONG) || defined(NO_LOCK_INSERT) || defined(NO_LOCK_REMOVE) || \
    defined(COPY_WITHOUT_LOCK) || defined(BEGIN_WITHOUT_LOCK) || defined(CHECK_OUTSIDE_LOCK)
#define CUT }; atomic {
#else
#define CUT ;
#endif

/* Nodes, by number: 1 holds Q and 2 holds P for ever; 3 is writer 0's, 4 is writer 1's. A line of 0
 * is a free slot. key_of is 0 while the memory belongs to nobody who may be found. */
byte line[10], nxt[10];
bool pooled[10];
byte key_of[5];
bool array_freed;                  /* the old one */
byte current, previous = NONE;     /* previous: of the new array */
byte newest, being_copied = NONE;  /* under the lock */
bool locked;
byte grace[3]; /* readers that have not reported since it began: of writer 0, writer 1, control */

/* Not in the code: what a lookup of K that begins now must say, and those that run. */
mtype = { present, absent, either };
mtype truth = present;
mtype expected[2];
byte unwritten; /* PUBLISH_EARLY: inserted before its content was written */
bool done[3];

#define lock() !locked; locked = true
#define unlock() locked = false
#ifdef NO_LOCK_INSERT
#define lock_insert() skip
#define unlock_insert() skip
#else
#define lock_insert() lock()
#define unlock_insert() unlock()
#endif
#ifdef NO_LOCK_REMOVE
#define lock_remove() skip
#define unlock_remove() skip
#else
#define lock_remove() lock()
#define unlock_remove() unlock()
#endif
#ifdef COPY_WITHOUT_LOCK
#define lock_copy() skip
#define unlock_copy() skip
#else
#define lock_copy() lock()
#define unlock_copy() unlock()
#endif

/* ------------------------------------------------------------------ writers, under the lock */

/* Locals that mean nothing any more would only multiply the states. */
inline forget() {
    at = 0; tail = 0; from = 0; into = 0; extended = false; was_there = false
}

inline changing(key) {
    if
    :: key == K -> truth = either; expected[0] = either; expected[1] = either
    :: else
    fi
}

inline changed(key, to) {
    if
    :: key == K -> assert(truth == either); truth = to
    :: else
    fi
}

inline free_place(array, node) {
    at = HOME(array, key_of[node]);
    do
    :: line[AT(array, at)] == 0 -> extended = false; break
    :: else ->
        if
        :: nxt[AT(array, at)] != 0 -> at = nxt[AT(array, at)]
        :: else ->
            tail = at;
            at = HOMES(array);
            do
            :: pooled[AT(array, at)] -> break
            :: else -> at++
            od;
            pooled[AT(array, at)] = false;
            extended = true;
            break
        fi
    od
}

/* at: the last bucket of the chain if it is empty and not the home, else 0; tail: the one before */
inline find_empty_tail(array, node) {
    tail = HOME(array, key_of[node]);
    at = nxt[AT(array, tail)];
    do
#ifdef DROP_MIDDLE
    :: at == 0 || line[AT(array, at)] == 0 -> break
#else
    :: at == 0 || nxt[AT(array, at)] == 0 -> break
#endif
    :: else -> tail = at; at = nxt[AT(array, at)]
    od;
#ifndef DROP_FULL
    if
    :: at != 0 && line[AT(array, at)] != 0 -> at = 0
    :: else
    fi
#endif
}

inline take_out(array, node) {
    at = HOME(array, key_of[node]);
    was_there = false;
    do
    :: line[AT(array, at)] == node -> was_there = true; break
    :: else ->
        if
        :: nxt[AT(array, at)] == 0 -> break
        :: else -> at = nxt[AT(array, at)]
        fi
    od;
    if
    :: was_there -> line[AT(array, at)] = 0; find_empty_tail(array, node)
    :: else -> at = 0
    fi
}

inline drop_tail(array, node) {
    nxt[AT(array, tail)] = nxt[AT(array, at)];
    pooled[AT(array, at)] = true;
    nxt[AT(array, at)] = 0;
    find_empty_tail(array, node)
}

inline drop_tails(array, node) {
    do
    :: atomic { at != 0 -> drop_tail(array, node) }
    :: at == 0 -> break
    od
}

/* The key stands for key, local address and tag. */
inline search(array, key) {
    if
    :: array == NONE
    :: else ->
        at = HOME(array, key);
        do
        :: line[AT(array, at)] != 0 && key_of[line[AT(array, at)]] == key ->
            duplicate = true;
            break
        :: else ->
            if
            :: nxt[AT(array, at)] == 0 -> break
            :: else -> at = nxt[AT(array, at)]
            fi
        od;
        at = 0
    fi
}

#ifdef NO_CHECK_OF_PREVIOUS
#define search_both(key) search(newest, key)
#else
#define search_both(key) search(newest, key); search(being_copied, key)
#endif

inline publish(node, key) {
    line[AT(into, at)] = node;
    changed(key, present);
    unlock_insert();
    forget()
}

inline insert(node, key) {
    do
    :: atomic {
            duplicate = false;
#ifdef CHECK_OUTSIDE_LOCK
            search_both(key) CUT
#endif
            lock_insert() CUT
#ifndef CHECK_OUTSIDE_LOCK
            search_both(key) CUT
#endif
            if
            :: duplicate -> unlock_insert(); forget(); break
            :: else
            fi;
            changing(key);
            into = newest;
#ifdef INSERT_INTO_OLD
            if
            :: being_copied != NONE -> into = being_copied
            :: else
            fi;
#endif
            key_of[node] = key CUT
            free_place(into, node);
#ifdef PUBLISH_EARLY
            unwritten = node;
#endif
            if
            :: !extended -> publish(node, key); break
            :: else -> nxt[AT(into, tail)] = at
            fi
       };
        atomic { publish(node, key); break }
    od;
    unwritten = 0
}

inline removed(node) {
    changed(key_of[node], absent);
    unlock_remove();
    forget()
}

inline remove(node) {
    do
    :: atomic {
            lock_remove();
            changing(key_of[node]);
            into = newest;
            from = being_copied CUT
#ifdef NO_ERASE_OF_PREVIOUS
            from = NONE;
#endif
#ifndef NO_ERASE_OF_NEWEST
            take_out(into, node);
#endif
            if
            :: at == 0 && from == NONE -> removed(node); break
            :: else
            fi
       };
        drop_tails(into, node);
        if
        :: from != NONE -> atomic { take_out(from, node) }; drop_tails(from, node)
        :: else
        fi;
        atomic { removed(node); break }
    od
}

inline give_back(node, who) {
#ifndef NO_GRACE_FOR_NODE
    grace[who] = 3;
    atomic { grace[who] == 0 -> key_of[node] = 0 }
#else
    key_of[node] = 0
#endif
}

proctype Writer(byte me) {
    byte at, tail, into, from;
    bool extended, was_there, duplicate;
    if
    :: me == 0 -> /* takes K out and uses the memory for another key, or again for K */
        remove(3);
        give_back(3, 0);
        if
        :: insert(3, L)
        :: insert(3, K)
        fi
    :: else -> /* puts in a K of its own, and takes it out again if that went well */
        insert(4, K);
        if
        :: !duplicate -> remove(4); give_back(4, 1)
        :: else
        fi
    fi;
    atomic { duplicate = false; done[me] = true }
}

/* ------------------------------------------------------------------ control */

inline go_on_copying() {
#ifdef ERASE_AFTER_COPY
    line[AT(OLD, from)] = 0;
#endif
    at = 0; tail = 0; extended = false; moved = 0;
    from = nxt[AT(OLD, from)];
    if
    :: from == 0 -> break
    :: else
    fi
}

inline copy_chain(home) {
    do
    :: atomic {
            moved = line[AT(OLD, from)];
#ifdef ERASE_BEFORE_COPY
            line[AT(OLD, from)] = 0;
#endif
            assert(moved == 0 || key_of[moved] != 0) CUT
#ifdef ERASE_BEFORE_COPY
       };
       atomic {
#endif
            if
            :: moved != 0 ->
                free_place(NEW, moved);
                if
                :: !extended -> line[AT(NEW, at)] = moved
                :: else -> nxt[AT(NEW, tail)] = at
                fi
            :: else
            fi;
#ifndef ERASE_AFTER_COPY
            if
            :: !extended -> go_on_copying()
            :: else
            fi
#endif
       };
        if
#ifdef ERASE_AFTER_COPY
        :: !extended -> atomic { go_on_copying() }
#endif
        :: extended ->
            line[AT(NEW, at)] = moved;
            atomic { go_on_copying() }
        :: else
        fi
    od
}

proctype Control() {
    byte at, tail, home, from, into, moved;
    bool extended, was_there;
    /* begin_move() */
#ifdef BEGIN_WITHOUT_LOCK
    previous = OLD;
    newest = NEW;
    being_copied = OLD;
    current = NEW;
#else
#ifdef CURRENT_EARLY
    atomic { lock(); current = NEW };
    atomic { previous = OLD; newest = NEW; being_copied = OLD; unlock() };
#else
    atomic { lock(); previous = OLD; newest = NEW; being_copied = OLD CUT current = NEW; unlock() };
#endif
#endif
    /* continue_move(): one home in each hold */
    do
    :: atomic {
#ifdef END_EARLY
            if
            :: home + 1 == HOMES(OLD) -> previous = NONE
            :: else
            fi;
#endif
            lock_copy();
            from = home CUT skip
       };
        copy_chain(home);
        atomic {
            home++;
            if
            :: home == HOMES(OLD) ->
                being_copied = NONE;
                previous = NONE;
                unlock_copy();
                forget();
                break
            :: else -> unlock_copy(); forget()
            fi
        }
    od;
    /* free_retired() */
#ifndef NO_GRACE_FOR_ARRAY
    grace[2] = 3;
    grace[2] == 0;
#endif
    atomic { array_freed = true; home = 0; done[2] = true }
}

/* ------------------------------------------------------------------ readers */

inline look(array) { /* at one bucket's slot */
    assert(!(array_freed && array == OLD));
    seen = line[AT(array, position)];
    if
    :: seen != 0 ->
        assert(key_of[seen] != 0); /* its memory was not given away */
        assert(unwritten != seen);
        if
        :: key_of[seen] == wanted -> found = seen
        :: else
        fi
    :: else
    fi;
    seen = 0
}

inline go_on(array) {
    assert(!(array_freed && array == OLD));
    position = nxt[AT(array, position)];
    steps++
}

#define AT_END (position == 0 || steps == BUCKETS)

inline found_or_not() { position = 0; steps = 0; in = 0; before = NONE }

/* in, then before: the loop ends with found, or with nowhere to look any more */
inline find_in() {
    position = HOME(in, wanted);
    do
    :: atomic {
            look(in);
            if
            :: found != 0 -> found_or_not(); break
            :: else
            fi
       };
        atomic {
            go_on(in);
            if
            :: AT_END && before == NONE -> found_or_not(); break
            :: AT_END && before != NONE ->
                in = before;
                before = NONE;
                steps = 0;
                position = HOME(in, wanted)
            :: else
            fi
        }
    od
}

inline read_previous() {
#ifdef NO_PREVIOUS
    before = NONE
#else
    if
    :: in == NEW -> before = previous
    :: else -> before = NONE
    fi
#endif
}

inline find() {
#ifdef PREVIOUS_LATE
    atomic { before = NONE; array = in };
    find_in();
    atomic {
        in = array;
        read_previous();
        array = 0;
        if
        :: found == 0 && before != NONE -> in = before; before = NONE
        :: else -> before = NONE; in = NONE
        fi
    };
    if
    :: in != NONE -> find_in()
    :: else -> in = 0
    fi
#else
    atomic { read_previous() };
    find_in()
#endif
}

inline burst() {
    atomic {
#ifndef BURST_IGNORES_PREVIOUS
        read_previous();
#endif
        whole = (before != NONE);
        before = NONE;
        position = HOME(in, wanted)
    };
    atomic { look(in) };
    atomic {
#ifndef BURST_IGNORES_NEXT
        whole = whole || nxt[AT(in, position)] != 0;
#endif
        found_or_not();
        /* What is not decided yet goes through find(), which reader 0 does all the time: begun
         * later in the same turn it can only see more. Reader 1 does it in the long mode only. */
        whole = whole && found == 0;
#ifndef LONG
        if
        :: whole -> expected[me] = either
        :: else
        fi
#endif
    };
#ifdef LONG
    if
    :: whole ->
        atomic { whole = false; in = current };
        find()
    :: else
    fi
#endif
}

inline report() {
    grace[0] = grace[0] & ~(1 << me);
    grace[1] = grace[1] & ~(1 << me);
    grace[2] = grace[2] & ~(1 << me)
}

proctype Reader(byte me) {
    byte in, before = NONE, position, steps, found, wanted, seen, array;
    bool whole;
end:
    do
    :: atomic {
#ifdef ONE_KEY_EACH
            wanted = (me == ONE_KEY_EACH -> P : K);
#else
            if
            :: wanted = P
            :: wanted = K
            fi;
#endif
            expected[me] = (wanted == K -> truth : present);
            in = current
       };
        if
        :: me == 0 -> find()
        :: else -> burst()
        fi;
#ifdef HOLD_OVER_REPORT
        atomic { report() };
#endif
        atomic { /* the worker uses what it found */
            assert(!(expected[me] == present && found == 0));
            assert(!(expected[me] == absent && found != 0));
            assert(found == 0 || key_of[found] == wanted);
            found = 0; wanted = 0; whole = false; expected[me] = either;
            report()
        }
    od
}

/* At rest the table holds what it should: Q and P once, K as the truth says. */
proctype Judge() {
    byte at, k, p, q, l;
    atomic {
        done[0] && done[1] && done[2] ->
        do
        :: at == BUCKETS -> break
        :: else ->
            if
            :: line[AT(NEW, at)] == 0
            :: else ->
                if
                :: key_of[line[AT(NEW, at)]] == K -> k++
                :: key_of[line[AT(NEW, at)]] == P -> p++
                :: key_of[line[AT(NEW, at)]] == Q -> q++
                :: key_of[line[AT(NEW, at)]] == L -> l++
                :: else -> assert(false)
                fi
            fi;
            at++
        od;
        assert(p == 1 && q == 1 && l <= 1);
        assert(truth != either);
        assert(k == (truth == present -> 1 : 0));
        at = 0; k = 0; p = 0; q = 0; l = 0
    }
}

init {
    atomic {
        line[AT(OLD, 0)] = 1; /* Q */
        line[AT(OLD, 2)] = 3; /* K */
        line[AT(OLD, 3)] = 2; /* P */
        nxt[AT(OLD, 0)] = 2;
        nxt[AT(OLD, 2)] = 3;
        pooled[AT(OLD, 4)] = true;
#ifndef SHRINK
        pooled[AT(OLD, 1)] = true;
#else
        pooled[AT(NEW, 1)] = true;
#endif
        pooled[AT(NEW, 2)] = true;
        pooled[AT(NEW, 3)] = true;
        pooled[AT(NEW, 4)] = true;
        key_of[1] = Q;
        key_of[2] = P;
        key_of[3] = K;
        expected[0] = either;
        expected[1] = either;
        run Reader(0);
        run Reader(1);
        run Writer(0);
        run Writer(1);
        run Control();
        run Judge()
    }
}
