// As moves.c, through what C++ moves values with.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "../../runtime/markers/include/dmdprof.h"

namespace {

constexpr int N = 4;
using Vector = std::vector<double>;

struct Real {
	double value;
	Real operator*(Real other) const { return {value * other.value}; }
	Real operator+(Real other) const { return {value + other.value}; }
};

struct Shape {
	virtual ~Shape() = default;
	virtual double product(double a, double b) const = 0;
};
struct Square : Shape {
	double product(double a, double b) const override { return a * b; }
};

double wrapped(const double *a, const double *b) {
	Real s = Real{a[0]} * Real{b[0]};
	for (int i = 1; i < N; i++)
		s = s + Real{a[i]} * Real{b[i]};
	return s.value;
}

double containers(const double *a, const double *b) {
	Vector x(a, a + N);
	std::map<int, double> y;
	for (int i = 0; i < N; i++)
		y.emplace(i, b[i]);
	Vector moved = std::move(x);
	moved.reserve(1000);
	double s = moved[0] * y.at(0);
	for (int i = 1; i < N; i++)
		s = s + moved[i] * y.at(i);
	return s;
}

double virtuals(const double *a, const double *b) {
	std::unique_ptr<Shape> shape = std::make_unique<Square>();
	double s = shape->product(a[0], b[0]);
	for (int i = 1; i < N; i++)
		s = s + shape->product(a[i], b[i]);
	return s;
}

double exceptions(const double *a, const double *b) {
	double s = 0;
	for (int i = 0; i < N; i++) {
		double thrown = 0;
		try {
			thrown = a[i] * b[i];
			if (i >= 0)
				throw std::runtime_error("on purpose");
		} catch (const std::runtime_error &) {
			s = i ? s + thrown : thrown;
		}
	}
	return s;
}

double closures(const double *a, const double *b) {
	auto product = [a, b](int i) { return a[i] * b[i]; };
	std::function<double(int)> boxed = product;
	double s = boxed(0);
	for (int i = 1; i < N; i++)
		s = s + boxed(i);
	return s;
}

std::tuple<double, double> both(double a, double b) { return {a, b}; }

double tuples(const double *a, const double *b) {
	double x, y;
	std::tie(x, y) = both(a[0], b[0]);
	double s = x * y;
	for (int i = 1; i < N; i++) {
		std::tie(x, y) = both(a[i], b[i]);
		s = s + x * y;
	}
	return s;
}

template <typename Function> bool same(const char *name, Function function) {
	double a[N] = {1, 2, 3, 4}, b[N] = {5, 6, 7, 8};
	dmdprof_input(a, sizeof a);
	dmdprof_input(b, sizeof b);
	dmdprof_begin(name);
	double result = function(a, b);
	dmdprof_output(&result, sizeof result);
	dmdprof_end(name);
	return result == 70;
}

} // namespace

int main() {
	return !(same("wrapped", wrapped) && same("containers", containers) && same("virtual functions", virtuals) &&
	         same("exceptions", exceptions) && same("closures", closures) && same("tuples", tuples));
}
