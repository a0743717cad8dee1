//! Labels of what is neither one value nor none: several values side by side in one register, and inputs that were
//! copied before anything looked at them.

use std::collections::HashMap;

use crate::shadow::ByteLabel;

/// The first number of a value; smaller labels say why there is none.
pub const FIRST_VALUE: u32 = EARLY + 1;
/// Label of what was written, but by nothing that is tracked.
pub const CONSTANT: ByteLabel = 1;
/// Label of what was written by the system: read from a file, received.
pub const OUTSIDE: ByteLabel = 2;
/// Label of what was loaded from a declared input before the region began, and of what was computed from that: a
/// constant, but maybe not meant to be one. Only registers have it.
pub const EARLY: ByteLabel = 3;

/// Values side by side: (label, bytes), in memory order.
pub type Pieces = Box<[(ByteLabel, u32)]>;

const JOINED: ByteLabel = 1 << 31;
const COPIED: ByteLabel = 1 << 30;
/// Numbers of values lie below this.
pub const VALUE_LIMIT: u32 = COPIED;

/// Untouched bytes that lie at `to` because they were copied from `from`.
#[derive(Clone, Copy, Debug)]
pub struct CopiedRange {
    pub to: u64,
    pub from: u64,
}

/// What a label stands for.
#[derive(Clone, Copy, Debug)]
pub enum Meaning<'a> {
    /// Nothing that is tracked.
    Nothing,
    Value(u32),
    Joined(&'a Pieces),
    Copied(CopiedRange),
}

#[derive(Default)]
pub struct Labels {
    joined: Vec<Pieces>,
    by_pieces: HashMap<Pieces, ByteLabel>,
    copied: Vec<CopiedRange>,
}

impl Labels {
    pub fn clear(&mut self) {
        self.joined.clear();
        self.by_pieces.clear();
        self.copied.clear();
    }

    /// Whether a label is of something that is tracked.
    #[inline]
    #[must_use]
    pub fn is_tracked(&self, label: ByteLabel) -> bool {
        !matches!(self.meaning(label), Meaning::Nothing)
    }

    #[inline]
    #[must_use]
    pub fn meaning(&self, label: ByteLabel) -> Meaning<'_> {
        if label < FIRST_VALUE {
            Meaning::Nothing
        } else if label < VALUE_LIMIT {
            Meaning::Value(label)
        } else if label & JOINED != 0 {
            Meaning::Joined(&self.joined[(label & !JOINED) as usize])
        } else {
            Meaning::Copied(self.copied[(label & !COPIED) as usize])
        }
    }

    /// The label of pieces side by side: that of the only one if there is one, or nothing if none is tracked.
    pub fn join(&mut self, pieces: &[(ByteLabel, u32)]) -> ByteLabel {
        let mut merged: Vec<(ByteLabel, u32)> = Vec::new();
        for &(label, bytes) in pieces {
            match self.meaning(label) {
                Meaning::Joined(inner) => merged.extend(inner.iter()),
                Meaning::Nothing => merged.push((CONSTANT, bytes)),
                _ => merged.push((label, bytes)),
            }
        }
        merged.dedup_by(|next, last| {
            let same = next.0 == last.0;
            if same {
                last.1 += next.1;
            }
            same
        });
        if let [(only, _)] = merged[..] {
            return only;
        }
        let pieces = merged.into_boxed_slice();
        if let Some(&known) = self.by_pieces.get(&pieces) {
            return known;
        }
        let label = JOINED | self.joined.len() as u32;
        self.joined.push(pieces.clone());
        self.by_pieces.insert(pieces, label);
        label
    }

    /// The label of a part of what a label stands for.
    pub fn label_of_part(&mut self, label: ByteLabel, offset: u32, bytes: u32) -> ByteLabel {
        let Meaning::Joined(pieces) = self.meaning(label) else { return label };
        let (mut at, end) = (0, offset + bytes);
        let mut taken = Vec::new();
        for &(label, len) in pieces {
            let (from, to) = (at.max(offset), (at + len).min(end));
            if from < to {
                taken.push((label, to - from));
            }
            at += len;
        }
        self.join(&taken)
    }

    /// A label for untouched bytes that have been copied.
    pub fn copied(&mut self, range: CopiedRange) -> ByteLabel {
        self.copied.push(range);
        COPIED | (self.copied.len() as u32 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_what_was_joined_are_the_pieces() {
        let mut labels = Labels::default();
        let (a, b) = (FIRST_VALUE, FIRST_VALUE + 1);
        let ab = labels.join(&[(a, 4), (b, 4)]);
        assert!(matches!(labels.meaning(ab), Meaning::Joined(p) if p.len() == 2));
        assert_eq!(labels.join(&[(a, 4), (b, 4)]), ab, "the same pieces are the same label");
        assert_eq!((labels.label_of_part(ab, 0, 4), labels.label_of_part(ab, 4, 4)), (a, b));
        assert_eq!(labels.label_of_part(a, 2, 2), a, "a part of a value is the value");
        let more = labels.join(&[(ab, 8), (a, 8)]);
        assert_eq!(labels.label_of_part(more, 4, 4), b);
        assert_eq!(labels.join(&[(a, 4), (a, 4)]), a);
        assert_eq!(labels.join(&[(0, 4), (CONSTANT, 4)]), CONSTANT);
    }
}
