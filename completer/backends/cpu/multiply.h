// Quantised weights times quantised activations. A tile is unpacked once and multiplied with several rows.
//
// For each output and row: part = sum over the halves of scale * dot, minus min * sum; total += part * activation scale;
// blocks in order. Every kernel keeps to this order, so all give the same bits.
#pragma once

#include "tile.h"

namespace completer {
namespace {

template <class Isa, Format F>
inline typename Isa::Floats block_part(
    const typename Isa::Ints* weights, const Scales<Isa, F>& scales, const Activations& x, size_t row_block) {
    constexpr Traits t = traits(F);
    const int8_t* values = x.values + row_block * kBlock;
    const int32_t* sums = x.half_sums + row_block * 2;
    typename Isa::Floats part;
    if constexpr (t.halves == 2) {
        const auto first = Isa::template dot<t.bits, 4>(Isa::ints(-t.offset * sums[0]), weights, values);
        const auto second = Isa::template dot<t.bits, 4>(Isa::ints(-t.offset * sums[1]), weights + 4, values + 16);
        part = Isa::mul(Isa::convert(first), scales.scale[0]);
        part = Isa::fma(Isa::convert(second), scales.scale[1], part);
    } else {
        const int32_t start = t.offset ? -t.offset * (sums[0] + sums[1]) : 0;
        const auto dot = Isa::template dot<t.bits, 8>(Isa::ints(start), weights, values);
        part = Isa::mul(Isa::convert(dot), scales.scale[0]);
    }
    if constexpr (t.has_min) part = Isa::fnma(scales.min, Isa::set(x.sums[row_block]), part);
    return part;
}

// `count` rows in the time of Rows: rows behind the last, which every buffer has up to a multiple of 16, go nowhere.
template <class Isa, Format F, int Rows>
void multiply_rows(const Matrix& matrix, const Activations& x, int row, int count, int group, float* out,
                   size_t stride) {
    constexpr Traits t = traits(F);
    const int blocks = x.blocks();
    for (int lane = 0; lane < kGroup; lane += Isa::lanes) {
        const uint8_t* scales = matrix.scales(group);
        const uint8_t* quants = matrix.quants(group) + 4 * lane;
        typename Isa::Floats totals[Rows];
        for (auto& total : totals) total = Isa::zero();
        for (int block = 0; block < blocks; ++block) {
            const Scales<Isa, F> block_scales(scales, block, lane);
            typename Isa::Ints weights[8];
            unpack<Isa, t.bits>(quants + static_cast<size_t>(block) * t.bits * 64, weights);
#pragma GCC unroll 8
            for (int r = 0; r < Rows; ++r) {
                const size_t row_block = static_cast<size_t>(row + r) * blocks + block;
                const auto part = block_part<Isa, F>(weights, block_scales, x, row_block);
                totals[r] = Isa::fma(part, Isa::set(x.scales[row_block]), totals[r]);
            }
        }
        for (int r = 0; r < Rows && r < count; ++r)
            Isa::store(out + (row + r) * stride + group * kGroup + lane, totals[r]);
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
