"""The layout that kernels and Python share: descriptors, plans, states and statuses.

The descriptor table `D` is an int64 array with a row for each relation and each index.
"""

FIELDS = 48
"""Columns of the descriptor table."""

# --- relations ---------------------------------------------------------------------------------------------------
R_ARITY = 0
R_SLOTS = 1  # address of the hash table: int32 slots (kernels/slots.py)
R_MASK = 2  # number of slots - 1, at least the capacity
R_USED = 3  # slots that are not empty
R_EMITTED = 4  # bindings that reached the head since the database was opened
R_DEAD = 5  # rows that were deleted and not yet reclaimed
R_REPLAN = 6  # number of rows at which new plans are worth making
R_UNPLANNED = 7  # bits 1 << OUT and 1 << IN: changes of these lists have readers in the hyper-node without plans
R_ROWS = 8  # address of the row-major words
R_COUNT = 9  # address of the int32 counts, negative for dead rows; 0 where nothing is counted
R_N = 10  # number of rows
R_CAPACITY = 11
R_OLD = 12  # rows below were there before the last round
R_NEW = 13  # rows below were there when the round began; OLD to NEW is the delta
R_BIRTH = 14  # address of the int32 births, 0 where none are kept
R_SUPPORT = 15  # address of the int32 numbers of all derivations, 0 where every derivation counts
# While an epoch updates a relation in place: lists of int64 row numbers, and a journal to take everything back.
R_START = 24  # rows below were there when the epoch began
R_ROOM = 25  # entries that each of the lists and the journal can take
R_OUT = 26  # address of the list of the rows that died
R_OUT_N = 27
R_OUT_LOW = 28  # from here to R_OUT_HIGH: those that died in the last round, for other hyper-nodes all
R_OUT_HIGH = 29
R_IN = 30  # the same for the rows that were born
R_IN_N = 31
R_IN_LOW = 32
R_IN_HIGH = 33
R_JOURNAL = 34  # address of quadruples: row, count before, birth before, support before
R_JOURNAL_N = 35
R_ABSENT = 38  # derivations that were taken away, of rows that are not there: of functions that are not pure
R_LIST_COUNTERS = (R_OUT_N, R_OUT_LOW, R_OUT_HIGH, R_IN_N, R_IN_LOW, R_IN_HIGH, R_JOURNAL_N, R_ABSENT)
R_CLOSURE = 36  # of a closure, whose rows are only what this epoch has changed: address of the fields below
R_WAITING = 40  # address of rows that wait for their insertion, 0 where rows are inserted at once
R_WAITING_N = 41  # how many wait
R_WAITING_ROOM = 42  # how many can
R_GRID = 43  # address of the grid (fields below) of a dense relation of pairs, 0 without a grid
R_KEYED = 39  # address of the selection by whose key rows are distinct (fields below), 0 where by all columns
R_MARKED = 37  # words of a row behind those of its tuple: MARKED in the best rows of a search, else 0
JOURNALLED = 1 << 30
"""Set in the support of a row that is in the journal; without supports, in the count of a live one."""
MOST_COUNTED = JOURNALLED - 1
"""A count or a support that reaches this stays there: it then means "at least"."""
MARKED = 2
"""Support and birth (kernels/marked.py)."""
DEAD = -2147483648
"""The count of a row that died in an earlier epoch; one that died in this epoch has minus its round of death."""

# --- closures: int64 words at an address; the lists are those of kernels/components.py ----------------------------
C_WORDS = 0  # address of the words of the nodes
C_SLOTS = 1  # address and mask of the set of these words
C_MASK = 2
C_NODES = 3  # number of nodes
C_POOL = 4  # address of the int32 values of all lists
C_LISTS = 5  # address of int64[families, C_ROOM, 3]
C_ROOM = 6
C_COMPONENT = 7  # addresses of int32 per node: component, number of loops
C_LOOPS = 8
C_IRREFLEXIVE = 9
C_QUEUE = 10  # address of int32[C_ROOM]: the components from which one is reached
C_STAMPS = 11  # address of int64[C_ROOM], and of the clock
C_CLOCK = 12
C_ASKED = 13  # address of what the last search has found and how far it is (kernels/closed.py)
C_FIELDS = 14

# --- grids: int64 words at an address (kernels/grids.py) ----------------------------------------------------------
G_HEIGHT = 0  # pairs from (0, 0) to (height - 1, breadth - 1) have a bit
G_BREADTH = 1
G_BITS = 2

# --- indexes -----------------------------------------------------------------------------------------------------
I_RELATION = 0
I_SLOTS = 1  # address of the directory: int64 slots [32 hash bits | segment offset + 1]
I_MASK = 2
I_USED = 3
I_ARENA = 4  # address of the words that hold the segments (kernels/indexes.py)
I_TOP = 5  # words of the arena in use
I_CAPACITY = 6  # words of the arena
I_FREE = 7  # address of int64[64]: offset + 1 of the first free segment of class i
I_DONE = 8  # rows below are indexed
I_KEYS = 9  # number of key columns
I_PAYLOADS = 10  # number of columns stored with an entry behind its row number; 0: read them from the row
I_UNUSED = 11  # words of free segments
I_KEY = 12  # the key columns, at most MAX_KEYS
I_PAYLOAD = 20  # the payload columns, at most MAX_PAYLOADS
MAX_KEYS = 8
MAX_PAYLOADS = 3

# --- selections: int64 words at an address (kernels/selections.py) -----------------------------------------------
X_SHOWN = 0  # relation that shows a selection
X_CANDIDATES = 1  # relation that it selects from
X_INDEX = 2  # index of the shown rows by their key
X_OFFERS = 3  # index of the candidates by their key
X_FRONT = 4  # 1: better in no order is enough; 0: orders one after the other
X_DIED = 5  # place in R_OUT of the shown relation where the deaths of this update begin
X_BORN = 6  # place in its R_IN where the births of this update begin
X_ORDERS = 7
X_BEST = 8  # relation of the rows to show, one per key, where they are known; or -1
X_STALE = 9  # relation of the rows that a search has read and that a better one has replaced since
X_KEYS = 10  # number of key columns,
X_KEY = 11  # and these, at most MAX_KEYS
X_ORDER = X_KEY + MAX_KEYS  # for each order: column, 1 for the greatest first, kind
X_WORDS = X_ORDER + 3 * 16

# --- the frontier of a search: int64 words at an address (kernels/frontier.py) ------------------------------------
F_CHUNKS = 0  # address of the chunks: number of the next one + 1, entries, and for each entry its cost and its row
F_ROOM = 1  # chunks for which there is room
F_USED = 2  # chunks that have ever been used
F_FREE = 3  # the first of those free again + 1
F_FREED = 4  # how many are
F_LEAST = 5  # no cost in the buckets behind the first is less
F_TURNS = 6  # 1: rows take turns, because one got better than a row that it follows from
F_BETTER = 7  # rows that were new or got better
F_ROUND = 8  # the last round in which rows came out
F_BUCKET = 9  # for each bucket: its first chunk + 1, its last + 1, its entries. Costs in the first bucket equal the
BUCKETS = 65  # least, those of bucket i differ from it in bit i - 1 and in no higher one.
F_WORDS = F_BUCKET + 3 * BUCKETS
CHUNK = 128  # words of a chunk

# --- choices: int64 words at an address (kernels/choices.py); the first two are those of selections ------------------
X_DOMAINS = 2
X_DOMAIN = 3  # for each domain: index of the shown rows by it, its number of columns, and these columns

# --- plans: int64 words at an address ---------------------------------------------------------------------------
P_LEVELS = 0
P_HEAD = 1  # relation of the head
P_SOURCE = 2  # relation that level 0 scans
P_VERSION = 3  # which of its rows
P_ARGUMENTS = 4  # offset of the registers of the head's arguments
P_SHARED = 5  # 1 where threads may share the rows that level 0 scans
P_COUNTS = 6  # address of what is counted of the plan for a profile (kernels/counting.py), 0 where nothing is
P_LEVEL = 8  # offsets of the levels

FULL, OLD, DELTA, OUT, IN = range(5)
"""Versions of a relation: during a bootstrap the first three, in the update of a hyper-node also what died and came."""
AT_START, KEPT, NOW, EVER, AFTER, WITH, UP_TO, BEFORE, GONE, NEW = range(10, 20)
"""What a level of an update sees of a relation. AT_START: rows as the epoch found them; KEPT: those of them not
deleted; NOW: all live rows; EVER: rows at the start or now; GONE: rows deleted; NEW: rows inserted. In deletions, of
the hyper-node's own relations, AFTER: what the deaths up to this round leave; WITH: that and what dies in this round.
In insertions, UP_TO: live rows born before this round; BEFORE: born before the last round."""

# Levels. Each begins with [kind, object, version, nkeys, ncolumns, nlive]; behind that the key registers, then pairs
# (column, register) that the level fills, then pairs (from, to) of registers that stay alive.
SCAN, PROBE, CHECK, ABSENT, COMPARE, COMPUTE, CALL, RANGE, ROUTE = range(1, 10)
SCAN_LIVE, PROBE_LIVE, CHECK_LIVE, ABSENT_LIVE = range(10, 14)  # of an update: they look at counts and births
PROBE_CLOSED, CHECK_CLOSED, ABSENT_CLOSED = range(14, 17)  # of closures whose pairs are not written
SHORTEST = 17  # of a bootstrap or an update: membership is tested behind it (kernels/shortest.py)
L_KIND, L_OBJECT, L_VERSION, L_KEYS, L_COLUMNS, L_LIVE, L_EXTRA, L_LISTS = range(8)
SIEVE = 1 << 16
"""Bits of a sieve, 32 in each int64. Where L_EXTRA has 2, the column that is sifted and the address of the sieve stand
behind all lists of a SCAN_LIVE."""

# --- state of a run: int64 array, four entries per level ----------------------------------------------------------
S_LEVEL = 0
S_WORK = 1  # bindings made since the last look at the clock
S_BUDGET = 2  # how many of them may be made
S_ROUND = 3  # the round of death or birth
S_SKIP = 4  # entries of a list that level 0 leaves out behind each that it takes
S_COUNTS = 5  # the P_COUNTS of the plan under way
S_HELD = 6  # bindings of a full batch that wait for room in the head
S_LEVELS = 8
S_IN, S_CURSOR, S_INNER, S_NEXT = 0, 1, 2, 3

# --- counts of a plan for a profile: int64 words at an address (kernels/counting.py) ------------------------------
K_RUNS = 0  # how often the plan was started
K_SECONDS = 1  # nanoseconds of its runs
K_BEGAN = 2  # time when the run under way began, 0 where none is
K_ROWS = 3  # rows that its head got during runs
K_BORN = 4  # the same for rows born in an update, and for those that died
K_DIED = 5
K_NEXT = 6  # levels to run until the time of one is taken
K_RANDOM = 7  # state of the random numbers that say how many
K_LEVELS = 8
K_TRIED, K_MADE, K_SAMPLED, K_SPENT = range(4)
"""Four counts for each level: the bindings, or rows, that came in, and those that it made; the sum of both in the runs
of which the time was taken, and nanoseconds of these."""

# --- state of a hyper-node ---------------------------------------------------------------------------------------
N_PHASE = 0
N_POSITION = 1
N_INSIDE = 2  # a plan is under way
N_OBJECT = 3  # what has to grow, or the level that calls
N_ROUND = 4
N_LOG = 5  # address of the int64 log of row numbers at the end of each round
N_LOG_CAPACITY = 6  # rounds that it can take
N_STAGE = 7  # 1 while what is shown by selections follows a round
N_SELECTION = 8  # the selection under way,
N_PART = 9  # its part
N_CURSOR = 10  # and the place in a list
N_FREE = 11  # candidates born in this round that can be shown
N_SHARE = 12  # rows, or bindings, from which on threads share work; 0: never
N_BEGAN = 13  # S_WORK when the plan under way began
N_FIELDS = 14

# --- what threads share while they run a plan: int64 words at an address, counters in cache lines of their own --------
T_CURSOR = 0  # the next row to scan
T_STOP = 8  # 1 once a thread wants something that no other one may go on during
T_ROWS = 16  # the next row number of the head that no thread has reserved
T_USED = 24  # slots of the head that are not empty
T_END = 32  # rows to scan are below
T_CHUNK = 33  # rows that a thread scans before it takes more
T_THREADS = 34
T_TASK = 35  # how bindings change the head:
INSERT, CHARGE, CREDIT = range(3)
T_ROOM = 36  # entries that a ledger can take
T_OWNED = 37  # neighbouring rows that a thread owns, in bits
T_WORDS = 40
# and what each has for itself: an int64 array
O_NEXT = 0  # row numbers from here to O_END are reserved for new rows of this thread
O_END = 1
O_EMITTED = 2  # bindings that reached the head
O_LEDGERS = 3  # address of its ledgers, one after the other (kernels/deferred.py), 0 where nothing is deferred,
O_ENTRIES = 16  # and how many entries each of them has
O_WORDS = 32  # and one for each thread
RESERVED = 1024
"""Row numbers that a thread reserves at a time, more than a batch has bindings."""

# --- what a kernel returns ---------------------------------------------------------------------------------------
DONE = 0
GROW_RELATION = 1
GROW_DIRECTORY = 2
GROW_ARENA = 3
GROW_LOG = 4
CALL_OUT = 5  # a level wants a Python function applied to its batch
LOOK = 6  # time to look at the clock and at limits
WIDEN = 7  # a value does not fit into 32 bits
GROW_LISTS = 9  # the lists of a relation are full
ORDER = 10  # candidates of a choice that were born in one round want an order
SHARE_INDEXES = 11  # many rows are to be entered into indexes, which threads can share
SHARE_PLAN = 12  # threads can share the plan whose turn it is
INSERT_WAITING = 14  # rows that wait are to be inserted
PAUSED = 13  # another thread wants something first
REPLAN = 8  # a relation has outgrown the sizes that the plans were made for, or its changes have no plans

# --- operators ---------------------------------------------------------------------------------------------------
COMPARISONS = {"=": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
ADD, SUB, MUL, DIV, MOD, POW, AND, OR, XOR, NOT, SHL, SHR, SHRU = range(13)
LAND, LOR, LXOR, LNOT, MIN, MAX, NEG, TO_FLOAT, TO_NUMBER, TO_UNSIGNED, COPY = range(13, 24)
NUMBER, UNSIGNED, FLOAT = 0, 1, 2

# --- families of lists (kernels/lists.py) ---------------------------------------------------------------------------
USED, GIVEN_UP, NOTED, ENTRIES = range(4)
"""Positions in `used`."""
FAMILIES = 4
SAVED = 2
"""So many families before the last ones are those that can be noted, all lists of which fit into `used`."""
