//! How to measure the motion of data.

/// How to measure the motion of data.
#[derive(Clone, Debug)]
pub struct MotionOptions {
    /// Bytes that a thread's stamps may take before arrays are sampled.
    pub memory: u64,
    /// Also write down what every tile touches, up to this many bytes in sets.
    pub elements: Option<u64>,
}
