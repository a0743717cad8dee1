//! How threads that share a stack met.

use dmdprof_runtime::session::shared::Shared;

use crate::profile::model::{Sharing, UndefinedOrder};

pub fn sharing(shared: &Shared) -> Sharing {
    let undefined = shared.undefined;
    Sharing {
        undefined: UndefinedOrder {
            contended: undefined.contended,
            by_run: undefined.by_run,
            unmet: undefined.unmet,
            unseen_starts: shared.unseen_starts,
        },
    }
}
