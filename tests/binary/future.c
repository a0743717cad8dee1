/* An emulator that does not exist yet: it loads the plugin and says that its interface has a version nobody knows. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define FUNCTION(name) void qemu_plugin_##name(void) {}
FUNCTION(register_vcpu_tb_trans_cb) FUNCTION(register_vcpu_mem_cb) FUNCTION(register_vcpu_insn_exec_cb)
FUNCTION(register_vcpu_tb_exec_cb) FUNCTION(register_vcpu_exit_cb) FUNCTION(register_vcpu_syscall_cb)
FUNCTION(register_vcpu_syscall_ret_cb) FUNCTION(tb_n_insns) FUNCTION(tb_get_insn) FUNCTION(insn_vaddr)
FUNCTION(insn_size) FUNCTION(mem_size_shift) FUNCTION(mem_is_store)

struct info {
    const char *target;
    int oldest, newest;
    _Bool is_machine;
};

static int loads(const char *plugin) {
    struct info info = {"x86_64", 2, 99, 0};
    void *library = dlopen(plugin, RTLD_NOW);
    int (*install)(unsigned long, struct info *, int, char **) = library ? dlsym(library, "qemu_plugin_install") : 0;
    if (!install)
        fprintf(stderr, "%s\n", dlerror());
    return install && !install(1, &info, 0, 0);
}

int main(int count, char **words) {
    for (int i = 1; i < count; i++) {
        if (!strcmp(words[i], "--version"))
            return puts("qemu-x86_64 version 99.0.0") < 0;
        if (!strcmp(words[i], "--help"))
            return puts("-plugin") < 0;
        if (!strcmp(words[i], "-plugin") && !loads(words[i + 1]))
            return 1;
    }
    return puts("the program runs") < 0;
}
