// A convolution of so many outputs by so many weights.
#include <stdio.h>
#include <stdlib.h>

int input[64], output[64], weights[64];

int main(int argc, char **argv) {
    int outputs = argc > 1 ? atoi(argv[1]) : 5, taps = argc > 2 ? atoi(argv[2]) : 3;
    for (int i = 0; i < outputs; i++)
        for (int j = 0; j < taps; j++) output[i] += input[i + j] * weights[j];
    printf("%d\n", output[0]);
}
