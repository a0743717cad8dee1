// Virtual calls: a class hierarchy with virtual and multiple bases, dynamic_cast, member pointers, a tree of expressions
// evaluated again and again, std::function, visitors.
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct Expression {
    virtual ~Expression() = default;
    virtual long value(long x) const = 0;
    virtual std::string text() const = 0;
};

struct Named {
    std::string name;
    explicit Named(std::string n) : name(std::move(n)) {}
    virtual ~Named() = default;
    virtual const std::string &label() const { return name; }
};

struct Number : Expression {
    long number;
    explicit Number(long n) : number(n) {}
    long value(long) const override { return number; }
    std::string text() const override { return std::to_string(number); }
};

struct Variable : Expression, Named {
    explicit Variable(const std::string &n) : Named(n) {}
    long value(long x) const override { return x; }
    std::string text() const override { return label(); }
};

struct Binary : virtual Expression {
    std::unique_ptr<Expression> left, right;
    Binary(std::unique_ptr<Expression> l, std::unique_ptr<Expression> r) : left(std::move(l)), right(std::move(r)) {}
};

struct Sum : Binary {
    using Binary::Binary;
    long value(long x) const override { return left->value(x) + right->value(x); }
    std::string text() const override { return "(" + left->text() + " + " + right->text() + ")"; }
};

struct Product final : Binary {
    using Binary::Binary;
    long value(long x) const override { return left->value(x) * right->value(x) % 1000003; }
    std::string text() const override { return left->text() + " * " + right->text(); }
};

static std::unique_ptr<Expression> build(unsigned &seed, int depth) {
    seed = seed * 1664525u + 1013904223u;
    if (depth == 0) {
        if (seed >> 30)
            return std::make_unique<Number>(seed >> 20 & 15);
        return std::make_unique<Variable>("x");
    }
    auto left = build(seed, depth - 1), right = build(seed, depth - 1);
    if (seed >> 31)
        return std::make_unique<Sum>(std::move(left), std::move(right));
    return std::make_unique<Product>(std::move(left), std::move(right));
}

static void count(const Expression &e, long &variables, long &sums) {
    if (auto named = dynamic_cast<const Named *>(&e))
        variables += static_cast<long>(named->label().size());
    if (dynamic_cast<const Sum *>(&e))
        sums++;
    if (auto binary = dynamic_cast<const Binary *>(&e)) {
        count(*binary->left, variables, sums);
        count(*binary->right, variables, sums);
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? std::stoi(argv[1]) : 2500;
    unsigned seed = 7;
    auto tree = build(seed, 11);
    long variables = 0, sums = 0, total = 0;
    for (int i = 0; i < 20; i++)
        count(*tree, variables, sums);
    for (long x = 0; x < rounds; x++)
        total = (total * 31 + tree->value(x)) % 1000003;
    std::vector<std::function<long(long)>> functions;
    for (long i = 0; i < 64; i++)
        functions.emplace_back([i, &tree](long x) { return (x * i + (i % 16 == 0 ? tree->value(x) : 0)) % 1009; });
    long (Expression::*member)(long) const = &Expression::value;
    for (long x = 0; x < rounds; x++)
        for (auto &f : functions)
            total += f(x % 8 ? x : 0) * (x % 8 != 0);
    total += (tree.get()->*member)(3);
    std::string text = tree->text();
    std::printf("variables %ld sums %ld total %ld text %zu %.20s\n", variables, sums, total, text.size(), text.c_str());
    return 0;
}
