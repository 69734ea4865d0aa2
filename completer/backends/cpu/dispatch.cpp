// Which table of kernels this processor can run. Compiled for any x86-64.
#include <cpuid.h>
#include <cstdint>
#include <cstring>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "kernels.h"

namespace completer {
namespace {

struct Features {
    bool avx2 = false, avx_vnni = false, avx512_vnni = false, amx = false;
};

bool bit(unsigned word, int n) { return word >> n & 1; }

uint64_t enabled_states() {  // by the operating system: XCR0
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return static_cast<uint64_t>(high) << 32 | low;
}

// Linux grants the tile registers' state to a process that asks.
bool may_use_tiles() {
#if defined(__linux__)
    constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
    return false;
#endif
}

Features detect() {
    Features found;
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return found;
    const bool fma = bit(c, 12), has_xgetbv = bit(c, 27), f16c = bit(c, 29);
    if (!has_xgetbv || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return found;
    const uint64_t states = enabled_states();
    constexpr uint64_t ymm = 0x6, zmm = 0xE6, tiles = 0x60000;
    const unsigned b7 = b, c7 = c, d7 = d;
    found.avx2 = bit(b7, 5) && fma && f16c && (states & ymm) == ymm;
    const bool avx512 = bit(b7, 16) && bit(b7, 17) && bit(b7, 30) && bit(b7, 31) && (states & zmm) == zmm;
    found.avx512_vnni = found.avx2 && avx512 && bit(c7, 11);
    found.amx = found.avx512_vnni && bit(d7, 24) && bit(d7, 25) && (states & tiles) == tiles;
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) found.avx_vnni = found.avx2 && bit(a, 4);
    return found;
}

}  // namespace

const Kernels* choose_kernels(const char* level) {
    const Features found = detect();
    const Kernels* const tables[] = {&kAmx, &kAvx512, &kAvxVnni, &kAvx2};
    const bool allowed[] = {found.amx, found.avx512_vnni, found.avx_vnni, found.avx2};
    bool within_level = level[0] == 0;
    for (int i = 0; i < 4; ++i) {
        within_level = within_level || std::strcmp(tables[i]->name, level) == 0;
        if (within_level && allowed[i] && (i > 0 || may_use_tiles())) return tables[i];
    }
    return nullptr;
}

}  // namespace completer
