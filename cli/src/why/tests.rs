use super::places::is_line;

#[test]
fn lines_are_named_by_their_ends_or_numbers() {
    assert!(is_line("/src/app/kernel.c:12", "kernel.c:12"));
    assert!(is_line("/src/app/kernel.c:12", "12"));
    assert!(is_line("/src/app/kernel.c:12", "app/kernel.c:12"));
    assert!(!is_line("/src/app/mykernel.c:12", "kernel.c:12"));
    assert!(!is_line("/src/app/kernel.c:112", "12"));
    assert!(!is_line("kernel", "nel"));
    // A site without a line has its function's name, and who asks for a function wants all of it.
    assert!(!is_line("kernel", "kernel"));
    assert!(!is_line("app::kernel", "app::kernel"));
}
