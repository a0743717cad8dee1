/* std::string, whose code libstdc++ brings compiled: characters keep their identities in it. */
#include <map>
#include <string>
#include <vector>

#include "../../runtime/markers/include/dmdprof.h"

enum { n = 40 };

template <class F> static void region(const char *name, F f) {
	static char a[n];
	for (int i = 0; i < n; i++)
		a[i] = 'a' + i % 7;
	dmdprof_input(a, n);
	dmdprof_begin(name);
	const std::string t = f(a);
	char s = t[0];
	for (size_t i = 1; i < n; i++)
		s ^= t[i];
	dmdprof_output(&s, 1);
	dmdprof_end(name);
}

int main() {
	region("constructed", [](char *a) { return std::string(a, n); });
	region("+=", [](char *a) {
		std::string t;
		for (int i = 0; i < n; i++)
			t += a[i];
		return t;
	});
	region("copied", [](char *a) {
		std::string t(a, n), u;
		u = t;
		return u;
	});
	region("inserted", [](char *a) {
		std::string t(a + 20, 20);
		t.insert(0, a, 20);
		return t;
	});
	region("replaced", [](char *a) {
		std::string t(n, ' ');
		t.replace(0, n, a, n);
		return t;
	});
	region("erased", [](char *a) {
		std::string t = "--" + std::string(a, n);
		t.erase(0, 2);
		return t;
	});
	region("in a map", [](char *a) {
		std::map<int, std::string> m;
		for (int i = 0; i < n; i++)
			m[i / 8] += a[i];
		std::string t;
		for (auto &p : m)
			t += p.second;
		return t;
	});
	region("from a vector", [](char *a) {
		std::vector<char> v;
		for (int i = 0; i < n; i++)
			v.push_back(a[i]);
		return std::string(v.begin(), v.end());
	});
}
