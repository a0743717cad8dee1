#include "kernel.c"
