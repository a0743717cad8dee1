// variants: list array
#include "pair.h"
enum { N = 400000, TIMES = 10 };
typedef struct Node { struct Node *next; int value; } Node;
int main(void) {
    Node *head = 0;
    int *array = memory(sizeof(int) * N);
    for (int i = 0; i < N; i++) {
        Node *node = memory(sizeof *node);
        *node = (Node){head, i}, head = node, array[i] = i;
    }
    long sum = 0;
    for (int t = 0; t < TIMES; t++)
#ifdef VARIANT_list
        for (Node *n = head; n; n = n->next) sum += n->value;
#else
        for (int i = 0; i < N; i++) sum += array[i];
#endif
    printf("%ld\n", sum);
}
