//! What orders threads: calls that synchronise, and atomics with acquire and release.
//!
//! Takes a symbol name or an instruction, gives the hooks that it needs. Unlike the calls of [`crate::calls`], these
//! stay calls into code without hooks: what they read and write is not priced.

use dmdprof_abi::{Call, synchronise::team};

use crate::{
    calls::{
        Model,
        Operand::{self, Argument as A, Constant as K, SignedResult as R},
        When,
    },
    llvm::ir::{ModuleHandle, Opcode, Value},
};

const fn before(call: Call, operands: &'static [Operand]) -> Model {
    Model { call, when: When::Before, operands }
}

const fn after(call: Call, operands: &'static [Operand]) -> Model {
    Model { call, when: When::After, operands }
}

/// The hooks of a call to an external function.
#[must_use]
pub fn models_of(symbol: &str) -> &'static [Model] {
    const CREATED: &[Model] = &[after(Call::ThreadCreated, &[R, A(0)])];
    const JOINED: &[Model] = &[before(Call::ThreadJoined, &[A(0)])];
    const LOCK: &[Model] = &[after(Call::Lock, &[R, A(0)])];
    const LOCK_SHARED: &[Model] = &[after(Call::LockShared, &[R, A(0)])];
    const UNLOCK: &[Model] = &[before(Call::Unlock, &[A(0)])];
    const WAIT: &[Model] = &[after(Call::ConditionWait, &[A(0), A(1)])];
    const WAIT_AT: &[Model] = &[after(Call::ConditionWaitAt, &[A(0), A(1)])];
    const RELEASE: &[Model] = &[before(Call::Release, &[A(0)])];
    const ACQUIRE: &[Model] = &[after(Call::Acquire, &[A(0)])];
    const ONCE: &[Model] = &[after(Call::Once, &[A(0)])];
    match symbol {
        "pthread_create" | "thrd_create" => CREATED,
        "pthread_join" | "thrd_join" | "pthread_timedjoin_np" | "pthread_clockjoin_np" => JOINED,
        // The same of `std::thread`, which holds the handle.
        "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE" => {
            const { &[after(Call::ThreadCreated, &[K(0), A(0)])] }
        }
        "_ZNSt6thread4joinEv" | "_ZNSt3__16thread4joinEv" => const { &[before(Call::ThreadJoinedAt, &[A(0)])] },

        "pthread_mutex_lock"
        | "pthread_mutex_trylock"
        | "pthread_mutex_timedlock"
        | "pthread_mutex_clocklock"
        | "pthread_rwlock_wrlock"
        | "pthread_rwlock_trywrlock"
        | "pthread_rwlock_timedwrlock"
        | "pthread_spin_lock"
        | "pthread_spin_trylock"
        | "mtx_lock"
        | "mtx_trylock"
        | "mtx_timedlock" => LOCK,
        "pthread_rwlock_rdlock" | "pthread_rwlock_tryrdlock" | "pthread_rwlock_timedrdlock" => LOCK_SHARED,
        "pthread_mutex_unlock" | "pthread_rwlock_unlock" | "pthread_spin_unlock" | "mtx_unlock" => UNLOCK,

        "pthread_cond_wait" | "pthread_cond_timedwait" | "pthread_cond_clockwait" | "cnd_wait" | "cnd_timedwait" => {
            WAIT
        }
        "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"
        | "_ZNSt3__118condition_variable4waitERNS_11unique_lockINS_5mutexEEE" => WAIT_AT,
        "pthread_cond_signal"
        | "pthread_cond_broadcast"
        | "cnd_signal"
        | "cnd_broadcast"
        | "_ZNSt18condition_variable10notify_oneEv"
        | "_ZNSt18condition_variable10notify_allEv"
        | "_ZNSt3__118condition_variable10notify_oneEv"
        | "_ZNSt3__118condition_variable10notify_allEv"
        | "__cxa_guard_release" => RELEASE,
        "__cxa_guard_acquire" => ACQUIRE,
        "pthread_once" | "call_once" => ONCE,

        "pthread_barrier_init" => const { &[after(Call::BarrierSize, &[R, A(0), A(2)])] },
        "pthread_barrier_wait" => const { &[before(Call::Barrier, &[A(0)])] },
        "sem_init" => const { &[after(Call::SemaphoreUnits, &[R, A(0), A(2)])] },
        "sem_post" => const { &[before(Call::SemaphorePost, &[A(0)])] },
        "sem_wait" | "sem_trywait" | "sem_timedwait" | "sem_clockwait" => {
            const { &[after(Call::SemaphoreTake, &[R, A(0)])] }
        }

        "__kmpc_fork_call" => {
            const { &[before(Call::Release, &[K(team::BEGINS)]), after(Call::Acquire, &[K(team::PART_ENDS)])] }
        }
        "__kmpc_barrier" | "__kmpc_cancel_barrier" => const { &[before(Call::TeamBarrier, &[A(0)])] },
        "__kmpc_critical" | "__kmpc_critical_with_hint" => const { &[after(Call::Lock, &[K(0), A(2)])] },
        "__kmpc_end_critical" => const { &[before(Call::Unlock, &[A(2)])] },
        "__kmpc_reduce" | "__kmpc_reduce_nowait" => const { &[after(Call::LockIfOne, &[R, A(6)])] },
        "__kmpc_end_reduce" | "__kmpc_end_reduce_nowait" => const { &[before(Call::Unlock, &[A(2)])] },
        "omp_set_lock" | "omp_set_nest_lock" => const { &[after(Call::Lock, &[K(0), A(0)])] },
        "omp_unset_lock" | "omp_unset_nest_lock" => UNLOCK,
        _ => &[],
    }
}

/// The hooks of a call: those of its callee that it has the arguments and the result for.
pub fn models_of_call<'m>(call: Value<'m>, symbol: &str, has_result: bool) -> impl Iterator<Item = Model> + use<'m> {
    let arguments = call.arguments();
    let fits = move |m: &&Model| arguments >= m.arguments_needed() && (has_result || !m.needs_result());
    models_of(symbol).iter().filter(fits).copied()
}

/// Where an atomic access orders threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ordered {
    /// Right before it: what comes before it is released.
    pub before: Option<Model>,
    /// Right after it: what was released comes before what comes after it.
    pub after: Option<Model>,
}

/// What was released at the address of a load comes before what follows.
pub const LOADED: Model = after(Call::Acquire, &[A(0)]);

/// Blocks that are looked through for the fence of an access, or the accesses of a fence.
const MOST_BLOCKS: usize = 16;

/// What runs before an instruction whenever it runs, in its block and in those that alone lead there; the last first.
fn always_before(instruction: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    let blocks = std::iter::successors(Some(instruction.block()), |block| match block.predecessor_blocks()[..] {
        [before] => Some(before),
        _ => None,
    });
    let all = blocks.take(MOST_BLOCKS).flat_map(|block| block.instructions().into_iter().rev());
    all.skip_while(move |other| *other != instruction).skip(1)
}

/// What may run before an instruction: in its block, and in those that lead there.
fn maybe_before(instruction: Value<'_>) -> Vec<Value<'_>> {
    let own = instruction.block();
    let mut found: Vec<Value<'_>> = own.instructions().into_iter().take_while(|other| *other != instruction).collect();
    let mut blocks = vec![own];
    let mut at = 0;
    while at < blocks.len() {
        for before in blocks[at].predecessor_blocks() {
            if blocks.len() < MOST_BLOCKS && !blocks.contains(&before) {
                found.extend(before.instructions());
                blocks.push(before);
            }
        }
        at += 1;
    }
    found
}

/// The atomic accesses that a fence makes acquire, one per address: those that read, may run before it in the same
/// function, and do not acquire themselves. Their addresses are known at the fence.
pub fn acquired_by(fence: Value<'_>) -> Vec<Value<'_>> {
    if !fence.fence_ordering().0 {
        return Vec::new();
    }
    let reads = |i: &Value<'_>| matches!(i.opcode(), Opcode::Load | Opcode::AtomicRMW | Opcode::AtomicCmpXchg);
    let is_known = |address: Value<'_>| {
        let is_first = |address: Value<'_>| address.block().predecessors() == 0;
        !address.is_instruction() || is_first(address) || always_before(fence).any(|other| other == address)
    };
    let mut found: Vec<Value<'_>> = Vec::new();
    for access in maybe_before(fence).into_iter().filter(|i| reads(i) && i.is_atomic() && !i.ordering().0) {
        let address = access.operand(0);
        if is_known(address) && found.iter().all(|other| other.operand(0) != address) {
            found.push(access);
        }
    }
    found
}

/// The hooks of an atomic access: by its own ordering, or by that of a fence before it in the same function. A fence
/// that acquires has a hook of its own ([`acquired_by`]).
#[must_use]
pub fn ordered(instruction: Value<'_>) -> Ordered {
    const STORED: Model = before(Call::Release, &[A(1)]);
    const RELEASED: Model = before(Call::Release, &[A(0)]);
    let (acquires, mut releases) = instruction.ordering();
    if instruction.is_atomic() && !releases && instruction.opcode() != Opcode::Load {
        releases = always_before(instruction).any(|other| other.fence_ordering().1);
    }
    match instruction.opcode() {
        Opcode::Load => Ordered { before: None, after: acquires.then_some(LOADED) },
        Opcode::Store => Ordered { before: releases.then_some(STORED), after: None },
        Opcode::AtomicRMW | Opcode::AtomicCmpXchg => {
            Ordered { before: releases.then_some(RELEASED), after: acquires.then_some(LOADED) }
        }
        _ => Ordered::default(),
    }
}

/// A thread of a team begins its part with this.
pub const PART_BEGINS: Model = before(Call::Acquire, &[K(team::BEGINS)]);
/// A thread of a team ends its part with this.
pub const PART_ENDS: Model = before(Call::Release, &[K(team::PART_ENDS)]);

/// Functions that the threads of OpenMP teams run.
#[must_use]
pub fn team_parts(module: ModuleHandle<'_>) -> Vec<Value<'_>> {
    let Some(fork) = module.function("__kmpc_fork_call") else { return Vec::new() };
    let calls = module.functions().into_iter().flat_map(Value::blocks).flat_map(|block| block.instructions());
    let calls = calls.filter(|i| matches!(i.opcode(), Opcode::Call | Opcode::Invoke) && i.callee() == fork);
    calls.filter(|call| call.arguments() > 2).map(|call| call.operand(2)).filter(|part| part.is_function()).collect()
}
