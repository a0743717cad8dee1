/* A dot product whose inputs nobody declares, in a program without regions. */
static const double one = 1;
static double a[3] = { 1, 2, 3 }, b[3] = { 4, 5, 6 };

int main(void)
{
	double s = 0;
	for (int i = 0; i < 3; i++)
		s = s + a[i] * b[i];
	s = s * one; /* a constant of the program is no input */
	return s != 32;
}
