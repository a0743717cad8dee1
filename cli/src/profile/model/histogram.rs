//! How many bytes lay how deep.

use serde::{Deserialize, Serialize};

/// Bytes read by depth: (bucket, bytes), sorted by bucket, no zeros. Buckets: [`dmdprof_runtime::histogram`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram(pub Vec<(u16, u64)>);
