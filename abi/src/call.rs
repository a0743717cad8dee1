//! Library calls that are modelled by their meaning.
//!
//! A call comes to the hooks as six words: the site, the number of its meaning, and four operands, of which unused ones
//! are 0. They write event records. `memcpy(0x7000, 0x6000, 8)` at the site 0x555555563970:
//!
//! ```text
//!   hook    0000555555563970 20 7000 6000 8 0    Call::Copy
//!   record  d304555555563970 7000 6000 8         EventKind::Copy, 4 words
//! ```

numbered! {
    /// What the instrumentation tells the hooks about a modelled library call: the call's meaning and which operands to
    /// pass to [`symbol::CALL`](crate::symbol::CALL) as `a, b, c, d`. `before` = the hook runs before the call, else
    /// after it with the result.
    pub enum Call: u64 {
        /// after: result, size.
        Alloc = 1,
        /// after: result, count, size of one.
        AllocArray = 2,
        /// before: pointer. The size comes from the hooks' own block table.
        Free = 3,
        /// after: old pointer, result, new size. Old size from the block table.
        Realloc = 4,
        /// after: status (0 = done), address of the pointer, size.
        AllocOut = 5,
        /// after: result, length, file descriptor, flags. Mapped bytes are unknown inputs: as `Alloc`, but not in the
        /// block table.
        Map = 6,
        /// after: status, address, length.
        Unmap = 7,
        /// before: pointer, size (sized deallocation; the block table entry is dropped too).
        FreeSized = 8,
        /// after: old pointer, old size, result, new size (Rust's `__rust_realloc`).
        ReallocSized = 9,
        /// after: old pointer, result, count, size of one.
        ReallocArray = 10,
        /// after: old address, old length, result, new length.
        Remap = 11,

        /// before: dst, src, n.
        Copy = 20,
        /// before: dst, n.
        Fill = 21,
        /// after: s, result (`strlen`): reads result + 1.
        StrLen = 22,
        /// after: s, limit, result (`strnlen`).
        StrNLen = 23,
        /// before: a, b, n (`memcmp`, `bcmp`): reads both up to the first difference.
        MemCmp = 24,
        /// before: a, b.
        StrCmp = 25,
        /// before: a, b, n.
        StrNCmp = 26,
        /// after: s, c, n, result: reads up to the match, or all n.
        MemChr = 27,
        /// after: s, c, result: reads up to the match or the terminator (`strchr`, `index`).
        StrChr = 28,
        /// before: s (`strrchr`, `atoi`-like whole-string readers): reads all with the terminator.
        StrWhole = 29,
        /// before: dst, src (`strcpy`, `stpcpy`).
        StrCpy = 30,
        /// before: dst, src, n (`strncpy`): reads up to n or the terminator, writes n.
        StrNCpy = 31,
        /// before: dst, src (`strcat`).
        StrCat = 32,
        /// before: dst, src, n.
        StrNCat = 33,
        /// after: source, limit, result (`strdup`, `strndup`): a new block, copied.
        StrDup = 34,
        /// after: buffer, result (`read`, `recv`, `pread`): writes result bytes if positive.
        Delivered = 35,
        /// after: buffer, size of one, result (`fread`).
        DeliveredItems = 36,
        /// after: result (`fgets`, `gets`): the buffer, written with its terminator, if not null.
        DeliveredLine = 37,
        /// before: a, b (`strcasecmp`).
        StrCaseCmp = 38,
        /// before: a, b, n.
        StrNCaseCmp = 39,
        /// after: haystack, needle, result (`strstr`): reads the haystack up to the match's end (or all), the needle
        /// whole.
        StrStr = 40,
        /// before: buffer, n (`write`, `send`, `fwrite` with n = size * count): reads n bytes.
        Consumed = 41,
        /// before: buffer, size of one, count.
        ConsumedItems = 42,
        /// before: s, reject or accept set (`strspn`, `strcspn`) with result after: s, set, result.
        StrSpan = 43,
        /// after: buffer, limit, result (`snprintf`; `sprintf` has no limit): writes result + 1 bytes, up to the limit,
        /// unless the result is negative.
        Formatted = 44,
        /// after: address of the buffer's pointer, result (`getline`): writes result + 1 bytes, unless the result is
        /// negative.
        DeliveredLineOut = 45,

        /// `dmdprof_input(ptr, len)`.
        Input = 60,
        /// `dmdprof_begin(name)`.
        RegionBegin = 61,
        /// `dmdprof_end(name)`.
        RegionEnd = 62,
        /// `dmdprof_output(ptr, len)`.
        Output = 63,

        /// after: status, address of the new thread's handle.
        ThreadCreated = 70,
        /// before: handle of the thread that is waited for.
        ThreadJoined = 71,
        /// before: address of that handle.
        ThreadJoinedAt = 72,
        /// after: status (0 = got it), lock.
        Lock = 73,
        /// after: status, lock: others may have it too.
        LockShared = 74,
        /// before: lock.
        Unlock = 75,
        /// after: condition, mutex.
        ConditionWait = 76,
        /// after: condition, address of the mutex's address.
        ConditionWaitAt = 77,
        /// before: an address by which others are let go on.
        Release = 78,
        /// after: an address by which others may have let this thread go on.
        Acquire = 79,
        /// after: an address where whoever comes first does what all wait for (`pthread_once`).
        Once = 80,
        /// after: status, barrier, threads.
        BarrierSize = 81,
        /// before: barrier.
        Barrier = 82,
        /// after: status, semaphore, units.
        SemaphoreUnits = 83,
        /// before: semaphore.
        SemaphorePost = 84,
        /// after: status, semaphore.
        SemaphoreTake = 85,
        /// before: a place in the program at which the threads of an OpenMP team wait for each other.
        TeamBarrier = 86,
        /// after: result (1 = got the lock), lock of an OpenMP reduction.
        LockIfOne = 87,
    }
}
