//! The depth engine: exact depth of every byte read in one LRU stack of bytes.
