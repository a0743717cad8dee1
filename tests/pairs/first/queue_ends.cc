// variants: list deque
#include "../pair.h"
#include <deque>
#include <list>
enum { LENGTH = 500, STEPS = 1000000 };
// A short queue of jobs that come back: the list allocates and frees a node for each, the deque a block for many.
int main() {
#ifdef VARIANT_list
    std::list<uint32_t> queue;
#else
    std::deque<uint32_t> queue;
#endif
    for (int i = 0; i < LENGTH; i++) queue.push_back(random_number());
    uint64_t sum = 0;
    for (int i = 0; i < STEPS; i++) {
        uint32_t job = queue.front();
        queue.pop_front();
        sum = (sum ^ job) % 1000003;
        queue.push_back(job * 5 + 1);
    }
    printf("%llu\n", (unsigned long long)sum);
}
