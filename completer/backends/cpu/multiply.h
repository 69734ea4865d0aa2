// Quantised weights times quantised activations. A tile is unpacked once and multiplied with several rows.
//
// For each output and row: part = sum over the halves of scale * dot, minus min * sum; total += part * activation scale;
// blocks in order. Every kernel keeps to this order, so all give the same bits.
#pragma once

#include "tile.h"

namespace completer {
namespace {

constexpr int log2(int power) { return power == 1 ? 0 : 1 + log2(power / 2); }

// One tile of weights times some rows of one block. values, sums, minus_sums: those of the first row.
template <class Isa, Format F, int Rows>
inline void add_block(const uint8_t* tile, const Scales<Isa, F>& of, const int8_t* values, const float* scales,
                      const float* sums, const int32_t* minus_sums, typename Isa::Floats* totals) {
    constexpr Traits t = traits(F);
    typename Isa::Ints weights[8];
    unpack<Isa, t.bits>(tile, weights);
    const auto start = [&](int which, int r) {  // what makes up for weights stored without their sign
        const auto sum = Isa::ints(minus_sums[which * kRowTile + r]);
        return Isa::template times_power<log2(t.offset ? t.offset : 1)>(sum);
    };
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
        typename Isa::Floats part;
        if constexpr (t.halves == 2) {
            const auto first = Isa::template dot<t.bits, 4>(start(1, r), weights, values + r * kBlock);
            const auto second = Isa::template dot<t.bits, 4>(start(2, r), weights + 4, values + r * kBlock + 16);
            part = Isa::mul(Isa::convert(first), of.scale[0]);
            part = Isa::fma(Isa::convert(second), of.scale[1], part);
        } else {
            const auto zero = t.offset ? start(0, r) : Isa::ints(0);
            const auto dot = Isa::template dot<t.bits, 8>(zero, weights, values + r * kBlock);
            part = Isa::mul(Isa::convert(dot), of.scale[0]);
        }
        if constexpr (t.has_min) part = Isa::fnma(of.min, Isa::set(sums[r]), part);
        totals[r] = Isa::fma(part, Isa::set(scales[r]), totals[r]);
    }
}

// `count` rows in the time of Rows: rows behind the last, which their tile has room for, go nowhere.
template <class Isa, Format F, int Rows>
void multiply_rows(const Matrix& matrix, const Activations& x, int row, int count, int group, float* out,
                   size_t stride) {
    constexpr Traits t = traits(F);
    const int blocks = x.blocks();
    for (int lane = 0; lane < kGroup; lane += Isa::lanes) {
        const uint8_t* tile = matrix.quants(group) + 4 * lane;
        const size_t first = x.place(row, 0);
        const int8_t* values = x.values + first * kBlock;
        const float *scales = x.scales + first, *sums = x.sums + first;
        const int32_t* minus_sums = x.minus_sums + first / kRowTile * 3 * kRowTile + row % kRowTile;
        typename Isa::Floats totals[Rows];
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) totals[r] = Isa::zero();
        for (int block = 0; block < blocks; ++block) {
            if (lane == 0) fetch_ahead<t.bits>(tile);
            const Scales<Isa, F> of(matrix.scales(group), block, lane);
            add_block<Isa, F, Rows>(tile, of, values, scales, sums, minus_sums, totals);
            tile += t.bits * 64;
            values += kRowTile * kBlock;
            scales += kRowTile;
            sums += kRowTile;
            minus_sums += 3 * kRowTile;
        }
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r)
            if (r < count) Isa::store(out + (row + r) * stride + group * kGroup + lane, totals[r]);
    }
}

template <class Isa, Format F>
void multiply_groups(const Matrix& matrix, const Activations& x, int first, int last, float* out, size_t stride) {
    for (int group = first; group < last; ++group)
        for (int row = 0; row < x.rows;) {
            const int left = x.rows - row;
            if (Isa::most_rows >= 8 && left > 4) {
                multiply_rows<Isa, F, Isa::most_rows>(matrix, x, row, left, group, out, stride);
                row += Isa::most_rows;
            } else if (left > 2) {
                multiply_rows<Isa, F, 4>(matrix, x, row, left, group, out, stride);
                row += 4;
            } else if (left > 1) {
                multiply_rows<Isa, F, 2>(matrix, x, row, left, group, out, stride);
                row += 2;
            } else {
                multiply_rows<Isa, F, 1>(matrix, x, row, left, group, out, stride);
                row += 1;
            }
        }
}

template <class Isa>
void multiply(const Matrix& matrix, const Activations& x, int first, int last, float* out, size_t stride) {
    switch (matrix.format) {
        case Format::q4_0: return multiply_groups<Isa, Format::q4_0>(matrix, x, first, last, out, stride);
        case Format::q4_1: return multiply_groups<Isa, Format::q4_1>(matrix, x, first, last, out, stride);
        case Format::q5_0: return multiply_groups<Isa, Format::q5_0>(matrix, x, first, last, out, stride);
        case Format::q5_1: return multiply_groups<Isa, Format::q5_1>(matrix, x, first, last, out, stride);
        case Format::q8_0: return multiply_groups<Isa, Format::q8_0>(matrix, x, first, last, out, stride);
        case Format::q4_k: return multiply_groups<Isa, Format::q4_k>(matrix, x, first, last, out, stride);
        case Format::q5_k: return multiply_groups<Isa, Format::q5_k>(matrix, x, first, last, out, stride);
        case Format::q6_k: return multiply_groups<Isa, Format::q6_k>(matrix, x, first, last, out, stride);
    }
}

}  // namespace
}  // namespace completer
