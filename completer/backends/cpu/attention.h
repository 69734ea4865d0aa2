// Attention of a few queries that share a key head. What a query gathers depends on the positions it sees alone: its
// scores are added over the head's size in order, its weights and values over positions in order.
#pragma once

#include <limits>

#include "wide.h"

namespace completer {
namespace {

template <class Isa, int Count>
void score(const AttentionTask& task, int first, int extent) {
    using W = Wide<Isa>;
    for (int position = 0; position < extent; position += kGroup) {
        const uint16_t* keys = task.cache.key_block(task.head, position);
        W totals[Count];
        for (auto& total : totals) total = W::set(0);
        for (int i = 0; i < task.cache.size; ++i) {
            const W key = W::load_half(keys + i * kGroup);
            for (int q = 0; q < Count; ++q) totals[q] = W::fma(key, W::set(task.queries[first + q][i]), totals[q]);
        }
        for (int q = 0; q < Count; ++q)
            totals[q].store(task.scratch + static_cast<size_t>(first + q) * task.extent + position);
    }
}

// Scores to weights in place, unnormalised and zero from `seen` to `extent`; returns their sum.
template <class Isa>
float soften(float* scores, int seen, int extent) {
    using W = Wide<Isa>;
    const int end = (seen + kGroup - 1) / kGroup * kGroup;
    for (int i = seen; i < end; ++i) scores[i] = -std::numeric_limits<float>::infinity();
    W largest = W::load(scores);
    for (int i = kGroup; i < end; i += kGroup) largest = W::max(largest, W::load(scores + i));
    const W most = W::set(largest.largest());
    for (int i = 0; i < end; i += kGroup) W::exp(W::load(scores + i) - most).store(scores + i);
    for (int i = seen; i < extent; ++i) scores[i] = 0;
    W sums = W::set(0);
    for (int i = 0; i < end; i += kGroup) sums = sums + W::load(scores + i);
    return sums.sum();
}

template <class Isa, int Count>
void gather(const AttentionTask& task, int first, int seen, const float* inverse_sums) {
    using W = Wide<Isa>;
    constexpr int columns = 2;
    for (int column = 0; column < task.cache.size; column += columns * kGroup) {
        W totals[Count][columns];
        for (auto& of_query : totals)
            for (auto& total : of_query) total = W::set(0);
        for (int position = 0; position < seen; ++position) {
            const uint16_t* value = task.cache.value(task.head, position) + column;
            const W values[columns] = {W::load_half(value), W::load_half(value + kGroup)};
            for (int q = 0; q < Count; ++q) {
                const W weight = W::set(task.scratch[static_cast<size_t>(first + q) * task.extent + position]);
                for (int c = 0; c < columns; ++c) totals[q][c] = W::fma(values[c], weight, totals[q][c]);
            }
        }
        for (int q = 0; q < Count; ++q)
            for (int c = 0; c < columns; ++c)
                (totals[q][c] * W::set(inverse_sums[q])).store(task.outputs[first + q] + column + c * kGroup);
    }
}

template <class Isa, int Count>
void attend_some(const AttentionTask& task, int first) {
    int seen = 0;
    for (int q = 0; q < Count; ++q)
        if (task.positions[first + q] >= seen) seen = task.positions[first + q] + 1;
    const int extent = (seen + kGroup - 1) / kGroup * kGroup;
    score<Isa, Count>(task, first, extent);
    float inverse_sums[Count];
    for (int q = 0; q < Count; ++q) {
        float* scores = task.scratch + static_cast<size_t>(first + q) * task.extent;
        inverse_sums[q] = 1.0f / soften<Isa>(scores, task.positions[first + q] + 1, extent);
    }
    gather<Isa, Count>(task, first, seen, inverse_sums);
}

template <class Isa>
void attend(const AttentionTask& task) {
    for (int first = 0; first < task.count;) {
        const int left = task.count - first;
        if (Isa::lanes == kGroup && left >= 6) attend_some<Isa, 6>(task, first), first += 6;
        else if (left >= 3) attend_some<Isa, 3>(task, first), first += 3;
        else attend_some<Isa, 1>(task, first), first += 1;
    }
}

}  // namespace
}  // namespace completer
