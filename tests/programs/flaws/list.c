// A list whose nodes lie in no order, walked again and again for a part of each node.
#include <stdio.h>
#include <stdlib.h>

struct node {
	long key;
	struct node *next;
	char payload[112];
};

enum { N = 8192 };

__attribute__((noinline)) static struct node *build(void)
{
	static struct node *nodes[N];
	for (int i = 0; i < N; i++) {
		nodes[i] = malloc(sizeof *nodes[i]);
		nodes[i]->key = i;
	}
	// An odd factor makes a permutation.
	for (unsigned i = 0; i < N; i++)
		nodes[i * 2654435761u % N]->next = i + 1 < N ? nodes[(i + 1) * 2654435761u % N] : NULL;
	return nodes[0];
}

__attribute__((noinline)) static long sum(const struct node *node)
{
	long sum = 0;
	for (; node; node = node->next) // flaw: pack
		sum += node->key; // flaw: pack
	return sum;
}

int main(int argc, char **argv)
{
	struct node *list = build();
	long all = 0;
	for (int round = 0; round < argc + 7; round++) { // loop
		list->key++;
		all += sum(list);
	}
	(void)argv;
	printf("%ld\n", all);
	return 0;
}
