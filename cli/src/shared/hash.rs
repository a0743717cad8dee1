//! Hashes of files as text.
//!
//! Takes a path, gives its SHA-256 in hexadecimal digits; refuses what cannot be read.

use std::{fs::File, io::Read, path::Path};

use anyhow::Context;
use sha2::{Digest, Sha256};

/// SHA-256 of a file, in hexadecimal digits.
///
/// # Errors
/// When it cannot be read.
pub fn of_file(path: &Path) -> anyhow::Result<String> {
    let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer).with_context(|| format!("cannot read {}", path.display()))?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
    }
    Ok(hexadecimal(&hasher.finalize()))
}

/// Two digits per byte.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
