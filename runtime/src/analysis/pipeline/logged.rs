//! What the engine is asked to do, written down for a second analysis.

use std::io;

use super::Pipeline;
use crate::{
    observe::attribution::Files,
    oplog::{OpLog, Recorded},
};

impl Pipeline {
    /// Writes down what the engine is asked to do from now on.
    pub fn start_log(&mut self, log: OpLog) {
        self.log = Some(Box::new(log));
    }

    /// What was written down, if anything was to be.
    pub fn take_log(&mut self, files: &mut Files<'_>) -> Option<OpLog> {
        self.flush(files);
        self.log.take().map(|log| *log)
    }

    /// What was written down of a part of a run; the next one begins.
    pub fn cut_log(&mut self, files: &mut Files<'_>) -> Option<io::Result<Recorded>> {
        self.flush(files);
        self.log.as_mut().map(|log| log.cut())
    }
}
