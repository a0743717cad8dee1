//! What the person sees: commands, the profile file and reports.
