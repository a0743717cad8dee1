//! What went wrong in a run of the values model, as it is told to the user.
//!
//! Takes sentences; keeps each once, and only so many of those that a program can cause in a loop.

/// Most sentences of one thread that are kept.
const MOST: usize = 20;

/// The sentences, in order.
#[derive(Default)]
pub struct Problems(pub Vec<String>);

impl Problems {
    /// The program did something wrong, maybe often.
    pub fn add(&mut self, text: String) {
        if self.0.len() < MOST && !self.0.contains(&text) {
            self.0.push(text);
        }
    }

    /// A result is not what it should be: this is never left out.
    pub fn note(&mut self, text: String) {
        self.0.push(text);
    }
}
