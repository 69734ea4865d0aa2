// AMX: the tile unit multiplies 16 outputs x 32 inputs with 16 rows at once. Scales are applied as everywhere else, so
// the bits are those of the other kernels. Narrow passes are limited by memory and stay with AVX-512.
#include <cstring>
#include <type_traits>
#include <utility>

#include "isa_avx512.h"
#include "kernels.h"
#include "tile.h"

namespace completer {
namespace {

constexpr int kFewestRows = 5;  // for which tiles are quicker

// The eight blocks of a panel, unpacked to signed bytes.
struct alignas(64) Panel {
    int8_t weights[kSuper][8][64];
    float scale[kSuper][2][kGroup];
    float min[kSuper][kGroup];
};

using Sums = int32_t[2][kRowTile][kGroup];  // by half of a block

struct alignas(64) TileConfig {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t column_bytes[16] = {};
    uint8_t rows[16] = {};

    void set(int tile, int row_count, int bytes) {
        rows[tile] = static_cast<uint8_t>(row_count);
        column_bytes[tile] = static_cast<uint16_t>(bytes);
    }
};

// Tiles 0..3: sums of the blocks in flight; 4, 5: activations; 6, 7: weights.
TileConfig tiles_for(int rows, int halves) {
    TileConfig config;
    for (int tile = 0; tile < 4; ++tile) config.set(tile, rows, 64);
    for (int tile = 4; tile < 6; ++tile) config.set(tile, rows, kBlock / halves);
    for (int tile = 6; tile < 8; ++tile) config.set(tile, 8 / halves, 64);
    return config;
}

template <Format F>
void unpack_panel(const Matrix& matrix, int group, int first, int count, Panel& panel) {
    constexpr Traits t = traits(F);
    const uint8_t* quants = matrix.quants(group) + first * matrix.tile_bytes();
    for (int block = 0; block < count; ++block) {
        const Scales<Isa512, F> scales(matrix.scales(group), first + block, 0);
        for (int half = 0; half < t.halves; ++half) Isa512::store(panel.scale[block][half], scales.scale[half]);
        if constexpr (t.has_min) Isa512::store(panel.min[block], scales.min);
        __m512i weights[8];
        unpack<Isa512, t.bits>(quants + static_cast<size_t>(block) * t.bits * 64, weights);
        for (int j = 0; j < 8; ++j) {
            if constexpr (t.offset != 0)
                weights[j] = _mm512_sub_epi8(weights[j], _mm512_set1_epi8(static_cast<char>(t.offset)));
            _mm512_store_si512(panel.weights[block][j], weights[j]);
        }
    }
}

// The intrinsics of gcc do not tell the compiler that they read and write memory.
template <int Tile>
void tile_zero() {
    __asm__ volatile("tilezero %%tmm%c0" ::"i"(Tile));
}
template <int Tile>
void tile_load(const void* from, long stride) {
    __asm__ volatile("tileloadd (%1,%2,1), %%tmm%c0" ::"i"(Tile), "r"(from), "r"(stride) : "memory");
}
template <int Tile>
void tile_store(void* to, long stride) {
    __asm__ volatile("tilestored %%tmm%c0, (%1,%2,1)" ::"i"(Tile), "r"(to), "r"(stride) : "memory");
}
template <int Sums, int Activations, int Weights>
void tile_multiply() {  // signed bytes
    __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(Activations), "i"(Weights));
}

template <int N>
using Number = std::integral_constant<int, N>;

// Starts the products of one half of a block with the rows at values, for tile `Sum`.
template <int Sum>
inline void start(const int8_t* values, const int8_t (*weights)[64]) {
    constexpr int activations = 4 + Sum % 2, unpacked = 6 + Sum % 2;
    tile_zero<Sum>();
    tile_load<activations>(values, kBlock);
    tile_load<unpacked>(weights, 64);
    tile_multiply<Sum, activations, unpacked>();
}

// scales, block_sums: of the rows.
template <Format F, int Rows>
inline void add_tile(const Sums& sums, const Panel& panel, int block, const float* scales, const float* block_sums,
                     __m512* totals) {
    constexpr Traits t = traits(F);
    const __m512 scale = _mm512_load_ps(panel.scale[block][0]);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
        __m512 part = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_load_si512(sums[0][r])), scale);
        if constexpr (t.halves == 2)
            part = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_load_si512(sums[1][r])),
                                   _mm512_load_ps(panel.scale[block][1]), part);
        if constexpr (t.has_min)
            part = _mm512_fnmadd_ps(_mm512_load_ps(panel.min[block]), _mm512_set1_ps(block_sums[r]), part);
        totals[r] = _mm512_fmadd_ps(part, _mm512_set1_ps(scales[r]), totals[r]);
    }
}

// totals of 8 or 16 rows += the panel's blocks. The products of several blocks run while an earlier one is added, and
// what lies behind the panel's quants is fetched meanwhile.
template <Format F, int Rows>
void multiply_panel(const Panel& panel, const uint8_t* quants, int first, int count, const Activations& x, int row,
                    float* memory) {
    constexpr int halves = traits(F).halves, bits = traits(F).bits;
    const size_t place = x.place(row, first);
    const int8_t* values = x.values + place * kBlock;
    const float *scales = x.scales + place, *block_sums = x.sums + place;
    alignas(64) Sums sums[2];
    __m512 totals[Rows];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) totals[r] = _mm512_load_ps(memory + r * kGroup);
    const auto begin = [&]<int Slot>(Number<Slot>, int block) {
        if (block >= count) return;
        const int8_t* rows = values + block * kRowTile * kBlock;
        start<Slot * halves>(rows, panel.weights[block]);
        if constexpr (halves == 2) start<Slot * halves + 1>(rows + kBlock / 2, panel.weights[block] + 4);
    };
    const auto end = [&]<int Slot>(Number<Slot> slot, int block) {
        if (block >= count) return;
        tile_store<Slot * halves>(sums[Slot % 2][0], 64);
        if constexpr (halves == 2) tile_store<Slot * halves + 1>(sums[Slot % 2][1], 64);
        begin(slot, block + 4 / halves);
        fetch_ahead<bits>(quants + static_cast<size_t>(block) * bits * 64);
        add_tile<F, Rows>(sums[Slot % 2], panel, block, scales + block * kRowTile, block_sums + block * kRowTile, totals);
    };
    const auto run = [&]<int... Slot>(std::integer_sequence<int, Slot...>) {
        (begin(Number<Slot>(), Slot), ...);
        for (int block = 0; block < count; block += 4 / halves) (end(Number<Slot>(), block + Slot), ...);
    };
    run(std::make_integer_sequence<int, 4 / halves>());
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) _mm512_store_ps(memory + r * kGroup, totals[r]);
}

template <Format F, int Rows>
void multiply_tiles(const Matrix& matrix, const Activations& x, int first, int last, float* out, size_t stride) {
    constexpr int most_rows = 128;
    alignas(64) float totals[most_rows][kGroup];
    Panel panel;
    const TileConfig config = tiles_for(Rows, traits(F).halves);
    __asm__ volatile("ldtilecfg %0" ::"m"(config));
    for (int group = first; group < last; ++group)
        for (int top = 0; top < x.rows; top += most_rows) {
            const int rows = x.rows - top < most_rows ? x.rows - top : most_rows;
            std::memset(totals, 0, sizeof totals);
            for (int block = 0; block < x.blocks(); block += kSuper) {
                const int count = x.blocks() - block < kSuper ? x.blocks() - block : kSuper;
                const uint8_t* quants = matrix.quants(group) + block * matrix.tile_bytes();
                unpack_panel<F>(matrix, group, block, count, panel);
                for (int row = 0; row < rows; row += Rows)
                    multiply_panel<F, Rows>(panel, quants, block, count, x, top + row, totals[row]);
            }
            for (int row = 0; row < rows; ++row)
                _mm512_storeu_ps(out + (top + row) * stride + group * kGroup, _mm512_load_ps(totals[row]));
        }
    __asm__ volatile("tilerelease");
}

template <Format F>
void multiply_format(const Matrix& matrix, const Activations& x, int first, int last, float* out, size_t stride) {
    if (x.rows <= kRowTile / 2) multiply_tiles<F, kRowTile / 2>(matrix, x, first, last, out, stride);
    else multiply_tiles<F, kRowTile>(matrix, x, first, last, out, stride);
}

void multiply_amx(const Matrix& matrix, const Activations& x, int first, int last, float* out, size_t stride) {
    if (x.rows < kFewestRows || x.blocks() % 2 != 0) return kAvx512.multiply(matrix, x, first, last, out, stride);
    switch (matrix.format) {
        case Format::q4_0: return multiply_format<Format::q4_0>(matrix, x, first, last, out, stride);
        case Format::q4_1: return multiply_format<Format::q4_1>(matrix, x, first, last, out, stride);
        case Format::q5_0: return multiply_format<Format::q5_0>(matrix, x, first, last, out, stride);
        case Format::q5_1: return multiply_format<Format::q5_1>(matrix, x, first, last, out, stride);
        case Format::q8_0: return multiply_format<Format::q8_0>(matrix, x, first, last, out, stride);
        case Format::q4_k: return multiply_format<Format::q4_k>(matrix, x, first, last, out, stride);
        case Format::q5_k: return multiply_format<Format::q5_k>(matrix, x, first, last, out, stride);
        case Format::q6_k: return multiply_format<Format::q6_k>(matrix, x, first, last, out, stride);
    }
}

}  // namespace

// Everything but products is that of AVX-512; kAvx512 is a constant and so is there before this runs.
const Kernels kAmx = [] {
    Kernels kernels = kAvx512;
    kernels.name = "amx";
    kernels.multiply = multiply_amx;
    return kernels;
}();

}  // namespace completer
