// C++ exceptions: thrown from deep recursion, caught by type and by base, rethrown, nested, from constructors, through
// destructors that count, through noexcept boundaries that are not crossed; exception_ptr; dynamic exception contents.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static long opened, closed;

struct Guard {
    std::string name;
    explicit Guard(int i) : name("guard number " + std::to_string(i)) { opened++; }
    Guard(const Guard &) = delete;
    ~Guard() { closed++; }
};

struct Coded : std::runtime_error {
    int code;
    Coded(const std::string &what, int c) : std::runtime_error(what), code(c) {}
};

struct HalfBuilt {
    Guard first{1};
    std::unique_ptr<Guard> second{new Guard(2)};
    HalfBuilt() { throw std::length_error("half built"); }
};

__attribute__((noinline)) static int descend(int depth, int kind) {
    Guard guard(depth);
    std::vector<int> local(static_cast<std::size_t>(depth % 7 + 1), depth);
    if (depth == 0) {
        switch (kind % 5) {
        case 0: throw Coded("coded " + std::to_string(kind), kind);
        case 1: throw std::out_of_range("range " + std::to_string(kind));
        case 2: throw kind;
        case 3: return local.at(1000);
        default: return kind;
        }
    }
    try {
        return descend(depth - 1, kind) + local[0];
    } catch (int &value) {
        if (depth % 10 == 0) {
            value++;
            throw;
        }
        throw value + 1;
    }
}

static std::uint64_t hash = 14695981039346656037u;

static void note(const char *text) {
    for (; *text; text++)
        hash = (hash ^ static_cast<unsigned char>(*text)) * 1099511628211u;
}

static void unnest(const std::exception &e, int &levels) {
    levels++;
    note(e.what());
    try {
        std::rethrow_if_nested(e);
    } catch (const std::exception &inner) {
        unnest(inner, levels);
    }
}

static void nest(int level) {
    try {
        if (level == 0)
            throw std::domain_error("innermost");
        nest(level - 1);
    } catch (...) {
        std::throw_with_nested(std::runtime_error("level " + std::to_string(level)));
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? std::stoi(argv[1]) : 3000;
    long coded = 0, ranges = 0, ints = 0, returned = 0, built = 0;
    for (int i = 0; i < rounds; i++) {
        try {
            returned += descend(i % 40, i);
        } catch (const Coded &e) {
            coded += e.code;
            note(e.what());
        } catch (const std::logic_error &e) {
            ranges++;
        } catch (int value) {
            ints += value;
        }
        try {
            HalfBuilt half;
        } catch (const std::exception &e) {
            built++;
            note(e.what());
        }
    }
    int levels = 0;
    try {
        nest(50);
    } catch (const std::exception &e) {
        unnest(e, levels);
    }
    std::exception_ptr kept;
    try {
        descend(20, 0);
    } catch (...) {
        kept = std::current_exception();
    }
    try {
        std::rethrow_exception(kept);
    } catch (const Coded &e) {
        note(e.what());
    }
    std::printf("coded %ld ranges %ld ints %ld returned %ld built %ld levels %d\n", coded, ranges, ints, returned, built, levels);
    std::printf("opened %ld closed %ld hash %016llx\n", opened, closed, static_cast<unsigned long long>(hash));
    return opened == closed ? 0 : 1;
}
