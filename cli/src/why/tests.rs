use super::*;

#[test]
fn lines_are_named_by_their_ends_or_numbers() {
    assert!(is_line("/src/app/kernel.c:12", "kernel.c:12"));
    assert!(is_line("/src/app/kernel.c:12", "12"));
    assert!(is_line("/src/app/kernel.c:12", "app/kernel.c:12"));
    assert!(!is_line("/src/app/mykernel.c:12", "kernel.c:12"));
    assert!(!is_line("/src/app/kernel.c:112", "12"));
    assert!(!is_line("kernel", "nel"));
}
