// A list by keys, and a loop for vectors.
struct node { struct node *next; int key, value; };
static struct node *table[64];
int look(int key) { for (struct node *n = table[key & 63]; n; n = n->next) if (n->key == key) return n->value; return -1; }
void sum(double *restrict a, const double *b, int n) { for (int i = 0; i < n; i++) a[i] += b[i] * b[n - i - 1]; }
