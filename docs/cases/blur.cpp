// Blurs a picture (PPM) by the recursive filter of Deriche: blur FROM SIGMA TO.
#define cimg_display 0
#include "CImg.h"

int main(int argc, char **argv) {
  if (argc != 4) return fprintf(stderr, "blur FROM SIGMA TO\n"), 2;
  cimg_library::CImg<float> picture(argv[1]);
  picture.blur((float)atof(argv[2]), true, false).save(argv[3]);
}
