"""Native speed: kernels compiled by numba, which know addresses and 64-bit integers and no Python objects.

    calling    who runs a kernel: Python while there is little to do, then machine code
    compiling  calls before a kernel is compiled
    native     what numba makes of kernels;  cache  the code compiled before;  places  the folders where it is
    words      load and store words by address, prefetch, hash;  checked  the same in plain Python
    layout     the fields of the descriptor table, of a plan and of the state of a run
    sets       the rows of a relation and the hash table that keeps them distinct;  slots  what such a table consists of
    indexes    directories of segments: the rows that share a key;  filling  an index of many rows from scratch
    scalars    compare, compute and range levels on a batch
    registers  the columns of a batch
    probes     levels that look rows up;  shortest  those that take the shortest of several ways;  ranges  that count
    remembered  arguments of functors in Python, by hash
    live       levels of an update, which see a relation as it was, in between, or as it is
    closed     levels that look pairs up in a closure
    counting   what a profile has of plans
    joins      the batched plan interpreter: one level after the other, a batch of bindings at a time
    fixpoint   the rounds of a hyper-node evaluated from scratch;  changes  the rounds of an update;
               settling  the lists of what an update has changed
    threads    plans that several threads run;  reserving  numbers of rows that each of them takes;  deferred  changes
               of heads that they put off in an update
    selections what relations that select show, round by round;  orders  which of two rows is better
    frontier   the best row of each key by a search from scratch;  marked  its rows with supports and births
    results    what relations have from it
    choices    what relations that choose show, round by round
    waiting    rows that wait for their insertion, in the order of the slots
    grids      the pairs of a dense relation as bits
    frozen     rows as of an earlier epoch, found in a set that another thread changes
    lists      lists of node numbers in one pool
    components strongly connected components of a graph, and a test that one is still connected
    reach      the reach sets of components while edges change;  runs  the form of these sets
    building   a closure from all of its edges at once
    texts      the texts of symbols, their words by hash, and rows of text split into fields
    pairs      the pairs of a closure: counted, written, looked up;  differences  those that a change removes and adds
    sums       exact sums of floats, group by group
    folds      counts, sums and first values over the pairs of a closure, by components

Every kernel exists once and serves both word sizes: its last argument `w`, `numpy.int32(0)` or `numpy.int64(0)`, is a
type tag. Kernels are resumable: one that needs more memory, a Python function or a look at the clock returns a status
of `layout` and is called again. Compiled code is kept in the folder of caches under a hash of these sources, because
numba does not notice when a helper in another file changes. With NUMBA_DISABLE_JIT=1 the same kernels run as Python
over checked memory. Only `native` and `cache` load numba.
"""
