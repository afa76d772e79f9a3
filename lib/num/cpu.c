/* cpu.c - see cpu.h. Asks CPUID and XGETBV directly: which names __builtin_cpu_supports knows
 * differs from compiler to compiler.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, section 14.3
 * (detection of AVX, FMA, F16C) and 14.7.1 (AVX2), 15.2 to 15.4
 * (AVX-512), and 18.3 (AMX).
 */
#include "num/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Which registers does the system save? XCR0: bits 1 and 2 are AVX, with 5 to 7 AVX-512. */
#define SAVES_AVX    0x06u
#define SAVES_AVX512 0xE6u
#define SAVES_TILES  0x60000u

static bool system_saves(uint32_t bits)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & bits) == bits;
}

/* Bits of CPUID leaf 7: EAX of its part 1, EDX of its part 0 (tiles, and bf16 in them). */
#define AVX512_BF16 (1u << 5)
#define AMX         (1u << 24 | 1u << 22)

/* Tiles make the state of a thread 8 KiB larger: Linux wants to be asked for them once in a
 * process, and gives them to all of its threads (Documentation/arch/x86/xstate.rst). */
static bool permitted(void)
{
    enum { REQUEST = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}

static unsigned offered(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return 0;
    unsigned needed = bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C;
    if ((c & needed) != needed || !system_saves(SAVES_AVX))
        return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 0;
    if (!(b & bit_AVX2))
        return 0;
    unsigned wide = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL | bit_BMI | bit_BMI2;
    if ((b & wide) != wide || !system_saves(SAVES_AVX512))
        return EMBI_CPU_AVX2;
    unsigned found = EMBI_CPU_AVX2 | EMBI_CPU_AVX512, tiles = d;
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & AVX512_BF16))
        return found;
    found |= EMBI_CPU_BF16;
    return found | ((tiles & AMX) == AMX && system_saves(SAVES_TILES) ? EMBI_CPU_AMX : 0);
}
#else
static bool permitted(void)
{
    return false;
}

static unsigned offered(void)
{
    return 0;
}
#endif

/* Is `name` one of the words of `list`? */
static bool listed(const char *list, const char *name)
{
    while (*list) {
        size_t n = strcspn(list, ", \t");
        if (n == strlen(name) && memcmp(list, name, n) == 0)
            return true;
        list += n;
        list += strspn(list, ", \t");
    }
    return false;
}

unsigned embi_cpu_features(const char *disabled)
{
    unsigned features = offered();
    static const struct {
        const char *name;
        unsigned left;
    } words[] = {{"avx2", 0},
                 {"avx512", EMBI_CPU_AVX2},
                 {"bf16", EMBI_CPU_AVX2 | EMBI_CPU_AVX512},
                 {"amx", EMBI_CPU_AVX2 | EMBI_CPU_AVX512 | EMBI_CPU_BF16}};
    for (size_t i = 0; disabled && features && i < EMBI_LEN(words); i++)
        if (listed(disabled, words[i].name))
            features &= words[i].left;
    if ((features & EMBI_CPU_AMX) && !permitted())
        features &= ~(unsigned)EMBI_CPU_AMX;
    return features;
}
