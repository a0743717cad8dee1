// The standard library: map, unordered_map, string, vector, sort, set, list, priority_queue, regex, streams.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <list>
#include <map>
#include <queue>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

static std::uint32_t state = 1;

static std::uint32_t random_number() {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? std::stoi(argv[1]) : 200000;
    std::map<std::uint32_t, int> ordered;
    std::unordered_map<std::string, int> hashed;
    for (int i = 0; i < n; i++) {
        std::uint32_t r = random_number() % static_cast<std::uint32_t>(n / 2 + 1);
        ordered[r] += i;
        hashed["key " + std::to_string(r % 1000)]++;
        if (i % 3 == 0)
            ordered.erase(r / 2);
    }
    std::uint64_t sum = 0;
    for (const auto &entry : ordered)
        sum = sum * 31 + entry.first + static_cast<std::uint64_t>(entry.second);
    std::vector<std::pair<int, std::string>> top;
    for (const auto &entry : hashed)
        top.emplace_back(entry.second, entry.first);
    std::sort(top.begin(), top.end(), [](const auto &a, const auto &b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
    std::cout << "map " << ordered.size() << ' ' << sum << ", most frequent " << top[0].second << ' ' << top[0].first << '\n';

    std::vector<std::string> strings;
    for (int i = 0; i < n / 4; i++)
        strings.push_back(std::string(random_number() % 30, static_cast<char>('a' + i % 26)) + std::to_string(random_number()));
    std::stable_sort(strings.begin(), strings.end());
    std::string joined;
    for (const auto &s : strings)
        joined += s.substr(0, 3);
    std::cout << "strings " << joined.size() << ' ' << strings.front() << ' ' << joined.find("zzz") << '\n';

    std::priority_queue<std::uint32_t> queue;
    std::set<std::uint32_t> seen;
    std::list<std::uint32_t> list;
    for (int i = 0; i < n / 4; i++) {
        queue.push(random_number());
        if (seen.insert(random_number() % 5000).second)
            list.push_front(static_cast<std::uint32_t>(i));
    }
    std::uint64_t popped = 0;
    while (!queue.empty()) {
        popped = popped * 7 + queue.top();
        queue.pop();
    }
    list.sort();
    list.reverse();
    std::cout << "queue " << popped << ", set " << seen.size() << ", list " << list.front() << '\n';

    std::ostringstream log;
    for (int i = 0; i < n / 100; i++)
        log << "2024-0" << i % 9 + 1 << "-1" << i % 10 << " host" << i % 7 << " error code=" << random_number() % 100 << "; ";
    const std::string text = log.str();
    const std::regex pattern("(\\d{4})-(\\d{2})-(\\d{2}) (host[0-3]) error code=(\\d+)");
    long matches = 0, codes = 0;
    for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
        matches++;
        codes += std::stol((*it)[5].str());
    }
    std::cout << "regex " << matches << ' ' << codes << ' ' << std::regex_replace(text.substr(0, 60), std::regex("[aeiou]"), "*") << '\n';
    std::istringstream in("3 1.5 word");
    int i;
    double d;
    std::string w;
    in >> i >> d >> w;
    std::cout << i + d << w << '\n';
    return 0;
}
