long part(const long *of, int n) {
    long sum = 0;
    for (int i = 0; i < n; i++) sum += of[i];
    return sum;
}
