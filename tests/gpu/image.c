/* image.c - what stands in the plugin of the tests where the real one has its kernels: a word that
 * the fake driver knows.
 */
#include "cuda/device.h"

const unsigned char embi_cuda_image[] = "kernels of the shim";
