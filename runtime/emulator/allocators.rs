//! Lives of blocks by the calls of functions that give and take them.
//!
//! Takes what a thread's registers say where such a function is entered, and where a call may have returned to; gives
//! which blocks begin and end. Only the outermost call counts, as `calloc` or `operator new` may call `malloc`. A call
//! that `longjmp` or an exception has left is forgotten at the next call or return of one further out. Knows no
//! emulator and no processor.

/// What a function does with blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Gives a block of as many bytes as an argument says, the first of which has the number 0.
    Gives(usize),
    /// Gives one of the product of its first two arguments.
    GivesArray,
    /// Writes the address of one of as many bytes as its third argument says to where its first says, and gives 0.
    GivesOut,
    /// Moves its first argument to a block of as many bytes as its second says.
    Resizes,
    /// Moves its first argument to a block of as many bytes as the product of its second and third says.
    ResizesArray,
    /// Its first argument ends.
    Takes,
    /// Is the allocator's own work: what it calls tells nothing.
    Works,
}

impl Function {
    /// That of a name.
    pub fn from_name(name: &[u8]) -> Option<&'static Self> {
        Some(match name {
            b"malloc" | b"valloc" | b"pvalloc" | b"__libc_malloc" | b"__libc_valloc" | b"__libc_pvalloc" => {
                &Self::Gives(0)
            }
            b"calloc" | b"__libc_calloc" => &Self::GivesArray,
            b"memalign" | b"aligned_alloc" | b"__libc_memalign" => &Self::Gives(1),
            b"posix_memalign" | b"__posix_memalign" => &Self::GivesOut,
            b"realloc" | b"__libc_realloc" => &Self::Resizes,
            b"reallocarray" | b"__libc_reallocarray" => &Self::ResizesArray,
            b"free" | b"cfree" | b"__libc_free" => &Self::Takes,
            // Of glibc, when a thread ends: gives back what lies in the thread's cache, and the cache.
            b"__malloc_arena_thread_freeres" => &Self::Works,
            // C++: `operator new` of one and of many, with an alignment, and without exceptions.
            b"_Znwm" | b"_Znam" => &Self::Gives(0),
            b"_ZnwmSt11align_val_t" | b"_ZnamSt11align_val_t" => &Self::Gives(0),
            b"_ZnwmRKSt9nothrow_t" | b"_ZnamRKSt9nothrow_t" => &Self::Gives(0),
            b"_ZnwmSt11align_val_tRKSt9nothrow_t" | b"_ZnamSt11align_val_tRKSt9nothrow_t" => &Self::Gives(0),
            // `operator delete`, with a size too.
            b"_ZdlPv" | b"_ZdaPv" | b"_ZdlPvm" | b"_ZdaPvm" => &Self::Takes,
            b"_ZdlPvSt11align_val_t" | b"_ZdaPvSt11align_val_t" => &Self::Takes,
            b"_ZdlPvmSt11align_val_t" | b"_ZdaPvmSt11align_val_t" => &Self::Takes,
            b"_ZdlPvRKSt9nothrow_t" | b"_ZdaPvRKSt9nothrow_t" => &Self::Takes,
            b"_ZdlPvSt11align_val_tRKSt9nothrow_t" | b"_ZdaPvSt11align_val_tRKSt9nothrow_t" => &Self::Takes,
            _ => return None,
        })
    }
}

/// Arguments that matter.
pub const ARGUMENTS: usize = 3;

/// Where a call is: where it returns to, and on which stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallFrame {
    pub returns_to: u64,
    /// The stack pointer where the function is entered.
    pub pointer: u64,
    /// Tells stacks from each other.
    pub stack: u64,
}

impl CallFrame {
    /// It is further out than another on its stack.
    fn is_outside(&self, other: &Self) -> bool {
        self.stack == other.stack && self.pointer > other.pointer
    }
}

/// What becomes of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    Begins {
        address: u64,
        bytes: u64,
    },
    /// Of a block whose address lies there.
    BeginsAt {
        pointer: u64,
        bytes: u64,
    },
    Moves {
        from: u64,
        to: u64,
        bytes: u64,
    },
    Ends {
        address: u64,
    },
}

/// A call that has not returned.
struct Call {
    function: Function,
    arguments: [u64; ARGUMENTS],
    place: CallFrame,
}

impl Call {
    /// What it has done, by what it gives.
    fn done(&self, given: u64) -> Option<Life> {
        let [a, b, c] = self.arguments;
        let begins = |bytes| (given != 0).then_some(Life::Begins { address: given, bytes });
        let moves = |bytes| Some(Life::Moves { from: a, to: given, bytes });
        match self.function {
            Function::Gives(which) => begins(self.arguments[which]),
            Function::GivesArray => begins(a.checked_mul(b)?),
            // A number of 32 bits.
            Function::GivesOut => (given as u32 == 0).then_some(Life::BeginsAt { pointer: a, bytes: c }),
            Function::Resizes => moves(b),
            Function::ResizesArray => moves(b.checked_mul(c)?),
            Function::Takes | Function::Works => None,
        }
    }
}

/// A thread's calls: the outermost that has not returned.
#[derive(Default)]
pub struct Calls(Option<Call>);

impl Calls {
    /// Such a function runs.
    pub fn is_inside(&self) -> bool {
        self.0.is_some()
    }

    /// A function is entered. A block ends before the function runs, as another thread may get it at once.
    pub fn enters(&mut self, function: Function, arguments: [u64; ARGUMENTS], place: CallFrame) -> Option<Life> {
        let ends = Life::Ends { address: arguments[0] };
        if let Some(outer) = self.0.as_ref().filter(|outer| !place.is_outside(&outer.place)) {
            // One that is jumped to takes the other's place: it is what returns.
            let is_jump = outer.place == place;
            let is_told = outer.function == Function::Takes && outer.arguments[0] == arguments[0];
            if !is_jump || is_told && function == Function::Takes {
                return None;
            }
        }
        self.0 = Some(Call { function, arguments, place });
        (function == Function::Takes && arguments[0] != 0).then_some(ends)
    }

    /// A call may have returned to a place, with this as what it gives.
    pub fn returns(&mut self, place: CallFrame, given: u64) -> Option<Life> {
        let outer = self.0.take_if(|outer| outer.place == place || place.is_outside(&outer.place))?;
        (outer.place == place).then(|| outer.done(given))?
    }
}
