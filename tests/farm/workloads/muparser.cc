// Evaluates formulas at many places.
#include <cstdio>
#include "muParser.h"

int main() {
    double x = 0.0, y = 0.0, sum = 0.0;
    for (const char* formula : {"sin(x)*y+x^2/(1+y^2)", "x>y ? sqrt(abs(x-y)) : exp(-x)", "min(x,y,3)+max(x,y)*_pi"}) {
        mu::Parser parser;
        parser.DefineVar("x", &x);
        parser.DefineVar("y", &y);
        parser.SetExpr(formula);
        for (int i = 0; i < 2000; i++) {
            x = i * 0.01;
            y = (i * 37 % 101) * 0.1;
            sum += parser.Eval();
        }
    }
    std::printf("%.9f\n", sum);
}
