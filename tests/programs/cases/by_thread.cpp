// Threads that take the next item of a common list: who gets which depends on the moment.
#include <atomic>
#include <thread>
#include <vector>

static volatile int table[4096];
static std::atomic<int> next_item, started;

static int take_items() {
    int sum = 0;
    // On a busy machine the first thread could take everything before the others are there.
    for (started++; started < 4;)
        std::this_thread::yield();
    for (int item; (item = next_item++) < 60000;)
        for (int i = 0; i < (item & 511); i++)
            sum += table[i];
    return sum;
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([] { (void)take_items(); });
    for (auto &thread : threads)
        thread.join();
}
