/* A program that does nothing: what start-up and exit cost. */
int main(void) { return 0; }
