//! Bitcode in, instrumented object out.
