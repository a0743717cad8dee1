// Declares the parts of a result.
#include <array>
#include <vector>

#include "../../../runtime/markers/include/dmdprof.h"

int main() {
    std::vector<int> results{3, 1, 2};
    dmdprof_output(results.data(), results.size() * sizeof(int));
    std::array<short, 2> last{7, 8};
    dmdprof_output(last.data(), sizeof last);
}
