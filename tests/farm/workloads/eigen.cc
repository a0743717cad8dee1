// Factors matrices and solves systems, dense and sparse.
#include <cstdio>
#include <Eigen/Dense>
#include <Eigen/Sparse>

int main() {
    const int n = 60;
    Eigen::MatrixXd a(n, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) a(i, j) = (i * 31 + j * 17) % 23 + (i == j ? 50 : 0);
    Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(n, 0.0, 1.0);
    std::printf("%.9f\n", a.partialPivLu().solve(b).norm());
    std::printf("%.9f\n", a.householderQr().solve(b).norm());
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> values(a + a.transpose());
    std::printf("%.6f\n", values.eigenvalues().maxCoeff());
    Eigen::SparseMatrix<double> s(400, 400);
    for (int i = 0; i < 400; i++) {
        s.insert(i, i) = 4.0;
        if (i > 0) s.insert(i, i - 1) = -1.0;
        if (i > 19) s.insert(i, i - 20) = -1.0;
    }
    s.makeCompressed();
    Eigen::SparseLU<Eigen::SparseMatrix<double>> lu(s);
    std::printf("%.9f\n", lu.solve(Eigen::VectorXd::Ones(400)).norm());
}
