/* HayStack's gemm (Gysi et al., PLDI 2019), N x N floats: three arrays of N N / 16 lines; a memory that holds a few rows but not B fetches all of
 * B again in each of the outer iterations but the first. */
#ifndef N
#define N 1024
#endif

float A[N][N], B[N][N], C[N][N];

__attribute__((noinline)) void gemm(float alpha, float beta) {
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            C[i][j] *= beta;
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                C[i][j] += alpha * A[i][k] * B[k][j];
    }
}

int main(int argc, char **argv) {
    (void)argv;
    gemm((float)argc, 1);
    return 0;
}
