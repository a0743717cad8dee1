// Threads: private work, a mutex, atomics, a condition variable, thread_local with destructors, call_once, futures, an
// exception carried from one thread to another. The output does not depend on the schedule.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::atomic<long> finished{0};

struct Counter {
    long value = 0;
    ~Counter() { finished += value; }
};

static thread_local Counter local;
static thread_local std::string scratch;

static std::uint64_t work(unsigned seed, int steps) {
    std::vector<std::uint64_t> table(4096);
    std::uint64_t x = seed;
    for (int i = 0; i < steps; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        table[x >> 52] += x >> 40;
        local.value++;
    }
    scratch = std::to_string(x);
    return std::accumulate(table.begin(), table.end(), std::uint64_t{0}) + scratch.size();
}

int main(int argc, char **argv) {
    const int threads = 4, steps = argc > 1 ? std::stoi(argv[1]) : 100000;
    std::vector<std::uint64_t> results(threads);
    std::map<int, std::uint64_t> shared;
    std::mutex mutex;
    std::atomic<long> hits{0};
    std::once_flag once;
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++)
        pool.emplace_back([&, t] {
            std::call_once(once, [] { std::puts("once"); });
            results[static_cast<std::size_t>(t)] = work(static_cast<unsigned>(t + 1), steps);
            for (int i = 0; i < 5000; i++) {
                hits.fetch_add(1, std::memory_order_relaxed);
                std::lock_guard<std::mutex> lock(mutex);
                shared[i % 97] += static_cast<std::uint64_t>(t + i);
            }
        });
    for (auto &thread : pool)
        thread.join();
    for (auto result : results)
        std::printf("%llu\n", static_cast<unsigned long long>(result));
    std::uint64_t sum = 0;
    for (const auto &entry : shared)
        sum += entry.second * static_cast<std::uint64_t>(entry.first + 1);
    std::printf("hits %ld shared %zu %llu finished %ld\n", hits.load(), shared.size(), static_cast<unsigned long long>(sum), finished.load());

    std::deque<int> queue;
    std::condition_variable filled;
    bool done = false;
    long consumed = 0;
    std::thread consumer([&] {
        std::unique_lock<std::mutex> lock(mutex);
        while (true) {
            filled.wait(lock, [&] { return done || !queue.empty(); });
            while (!queue.empty()) {
                consumed += queue.front();
                queue.pop_front();
            }
            if (done)
                return;
        }
    });
    for (int i = 0; i < 20000; i++) {
        std::lock_guard<std::mutex> lock(mutex);
        queue.push_back(i);
        filled.notify_one();
    }
    {
        std::lock_guard<std::mutex> lock(mutex);
        done = true;
    }
    filled.notify_one();
    consumer.join();
    auto failing = std::async(std::launch::async, [](int i) -> int { throw std::runtime_error("thrown by task " + std::to_string(i)); }, 3);
    try {
        failing.get();
    } catch (const std::exception &e) {
        std::printf("consumed %ld, %s\n", consumed, e.what());
    }
    return 0;
}
