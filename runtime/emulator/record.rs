//! A record, written into the ring of the thread.

use dmdprof_hooks::emulator;

/// Writes a record, unless its segment found no room.
#[inline(always)]
pub fn write(words: &[u64]) {
    if words[0] == 0 {
        return;
    }
    emulator::write_with(words.len(), |at| {
        for (number, word) in words.iter().enumerate() {
            // One by one: a copy in vectors would wait for the words that were stored just now.
            // SAFETY: room for the words was made.
            unsafe { at.add(number).write_volatile(*word) };
        }
    });
}
