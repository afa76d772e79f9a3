/* image.c - the fat binary that nvcc made of kernels.cu, as bytes of the plugin. EMBI_CUDA_FATBIN,
 * its path, comes from the Makefile.
 */
#include "cuda/device.h"

__asm__(".section .rodata\n"
        ".balign 64\n"
        ".globl embi_cuda_image\n"
        ".hidden embi_cuda_image\n"
        "embi_cuda_image:\n"
        ".incbin \"" EMBI_CUDA_FATBIN "\"\n"
        ".byte 0\n"
        ".previous\n");
