// What is done to one row of activations: quantising, norms, the gate of the MLP, rotary positions, the head's answers.
#pragma once

#include <cmath>
#include <limits>

#include "kernels.h"
#include "tile.h"
#include "wide.h"

namespace completer {
namespace {

template <class Isa>
void quantise(const float* x, const Activations& out, int row, int first, int last) {
    using W = Wide<Isa>;
    for (int block = first; block < last; ++block) {
        const size_t at = out.place(row, block);
        const W halves[2] = {W::load(x + block * kBlock), W::load(x + block * kBlock + kGroup)};
        const float largest = W::max(halves[0].abs(), halves[1].abs()).largest();
        const auto inverse = Isa::set(largest > 0 ? 127.0f / largest : 0.0f);
        int32_t sums[2] = {0, 0};
        for (int half = 0; half < 2; ++half)
            for (int i = 0; i < W::parts; ++i) {
                const auto rounded = Isa::round(Isa::mul(halves[half].part[i], inverse));
                Isa::store_bytes(out.values + at * kBlock + half * kGroup + i * Isa::lanes, rounded);
                sums[half] += Isa::sum(rounded);
            }
        out.scales[at] = largest / 127.0f;
        out.sums[at] = static_cast<float>(sums[0] + sums[1]);
        int32_t* minus_sums = out.minus_sums + (at / kRowTile * 3) * kRowTile + row % kRowTile;
        minus_sums[0] = -(sums[0] + sums[1]);
        minus_sums[kRowTile] = -sums[0];
        minus_sums[2 * kRowTile] = -sums[1];
    }
}

// RMSNorm, Zhang and Sennrich 2019 (arXiv 1910.07467).
template <class Isa>
void normalise(const float* x, const float* weight, float epsilon, int size, float* out) {
    using W = Wide<Isa>;
    W squares = W::set(0);
    for (int i = 0; i < size; i += kGroup) squares = W::fma(W::load(x + i), W::load(x + i), squares);
    const W factor = W::set(1.0f / std::sqrt(squares.sum() / static_cast<float>(size) + epsilon));
    for (int i = 0; i < size; i += kGroup) (W::load(x + i) * factor * W::load(weight + i)).store(out + i);
}

template <class Isa>
void add(float* x, const float* y, int size) {
    using W = Wide<Isa>;
    for (int i = 0; i < size; i += kGroup) (W::load(x + i) + W::load(y + i)).store(x + i);
}

template <class Isa>
void gate(float* x, const float* up, int size) {
    using W = Wide<Isa>;
    const W one = W::set(1);
    for (int i = 0; i < size; i += kGroup) {
        const W value = W::load(x + i);
        (value / (one + W::exp(W::set(0) - value)) * W::load(up + i)).store(x + i);
    }
}

// Su et al. 2021 (arXiv 2104.09864), with halves as pairs.
template <class Isa>
void rotate(const float* x, const float* cosines, const float* sines, int size, float scale, float* out) {
    using W = Wide<Isa>;
    const int half = size / 2;
    for (int i = 0; i < half; i += kGroup) {
        const W a = W::load(x + i), b = W::load(x + half + i), c = W::load(cosines + i), s = W::load(sines + i);
        ((a * c - b * s) * W::set(scale)).store(out + i);
        ((b * c + a * s) * W::set(scale)).store(out + half + i);
    }
}

template <class Isa>
void store_value(const LayerCache& cache, int head, int position, const float* value) {
    for (int i = 0; i < cache.size; i += kGroup)
        Wide<Isa>::load(value + i).store_half(cache.value(head, position) + i);
}

template <class Isa>
void store_key(const LayerCache& cache, int head, int position, const float* key) {
    uint16_t* column = cache.key_block(head, position) + position % kGroup;
    uint16_t halves[kGroup];
    for (int i = 0; i < cache.size; i += kGroup) {
        Wide<Isa>::load(key + i).store_half(halves);
        for (int j = 0; j < kGroup; ++j) column[(i + j) * kGroup] = halves[j];
    }
}

template <class Isa, Format F>
void dequantise(const Matrix& matrix, int row, float* out) {
    constexpr Traits t = traits(F);
    const int group = row / kGroup, lane = row % kGroup / Isa::lanes * Isa::lanes, inner = row % Isa::lanes;
    for (int block = 0; block < matrix.blocks(); ++block) {
        const Scales<Isa, F> scales(matrix.scales(group), block, lane);
        float scale[2][Isa::lanes] = {}, min[Isa::lanes] = {};
        for (int half = 0; half < t.halves; ++half) Isa::store(scale[half], scales.scale[half]);
        if constexpr (t.has_min) Isa::store(min, scales.min);
        typename Isa::Ints weights[8];
        unpack<Isa, t.bits>(matrix.quants(group) + block * matrix.tile_bytes() + 4 * lane, weights);
        uint8_t quants[8][Isa::lanes * 4];
        __builtin_memcpy(quants, weights, sizeof quants);
        for (int i = 0; i < kBlock; ++i) {
            const float q = static_cast<float>(quants[i / 4][4 * inner + i % 4] - t.offset);
            out[block * kBlock + i] = scale[t.halves == 2 ? i / 16 : 0][inner] * q - min[inner];
        }
    }
}

template <class Isa>
void dequantise_row(const Matrix& matrix, int row, float* out) {
    switch (matrix.format) {
        case Format::q4_0: return dequantise<Isa, Format::q4_0>(matrix, row, out);
        case Format::q4_1: return dequantise<Isa, Format::q4_1>(matrix, row, out);
        case Format::q5_0: return dequantise<Isa, Format::q5_0>(matrix, row, out);
        case Format::q5_1: return dequantise<Isa, Format::q5_1>(matrix, row, out);
        case Format::q8_0: return dequantise<Isa, Format::q8_0>(matrix, row, out);
        case Format::q4_k: return dequantise<Isa, Format::q4_k>(matrix, row, out);
        case Format::q5_k: return dequantise<Isa, Format::q5_k>(matrix, row, out);
        case Format::q6_k: return dequantise<Isa, Format::q6_k>(matrix, row, out);
    }
}

// The two largest, the lower number first on ties. A vector at a time is passed over unless it beats the second.
template <class Isa>
TopTwo top_two(const float* logits, int size) {
    constexpr float least = -std::numeric_limits<float>::infinity();
    TopTwo top{0, 0, least, least};
    const auto look = [&](int i) {
        if (logits[i] > top.first_logit) {
            top.second = top.first, top.second_logit = top.first_logit;
            top.first = i, top.first_logit = logits[i];
        } else if (logits[i] > top.second_logit) {
            top.second = i, top.second_logit = logits[i];
        }
    };
    constexpr int step = 4 * kGroup;
    int i = 0;
    for (; i + step <= size; i += step) {
        using W = Wide<Isa>;
        const W best = W::max(W::max(W::load(logits + i), W::load(logits + i + kGroup)),
                              W::max(W::load(logits + i + 2 * kGroup), W::load(logits + i + 3 * kGroup)));
        if (best.largest() > top.second_logit)
            for (int j = i; j < i + step; ++j) look(j);
    }
    for (; i < size; ++i) look(i);
    return top;
}

template <class Isa>
float log_sum_exp(const float* logits, int size) {
    using W = Wide<Isa>;
    const float largest = top_two<Isa>(logits, size).first_logit;
    W sums = W::set(0);
    int i = 0;
    for (; i + kGroup <= size; i += kGroup) sums = sums + W::exp(W::load(logits + i) - W::set(largest));
    float total = sums.sum();
    for (; i < size; ++i) total += std::exp(logits[i] - largest);
    return largest + std::log(total);
}

}  // namespace
}  // namespace completer
