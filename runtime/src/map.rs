//! Read-only memory maps of files.

use std::{fs::File, io};

use memmap2::Mmap;

/// Maps a whole file for reading.
///
/// # Errors
/// Whatever the system says, for example for an empty or unmappable file.
pub fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is read-only. If somebody truncates the file meanwhile, reads may fault; executables in use are
    // not truncated by any sane tool (linkers and installers replace them), and the same holds for profiles, which are
    // renamed into place.
    unsafe { Mmap::map(file) }
}
