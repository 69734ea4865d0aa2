// What the kernels read and write: quantised matrices in groups of 16 outputs, and activations in blocks of 32 inputs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace completer {

constexpr int kGroup = 16;  // outputs that lie together: the lanes of the widest vector
constexpr int kBlock = 32;  // inputs that share a scale of the activations
constexpr int kSuper = 8;   // blocks that share a half-precision scale in the K formats

// Numbers as in model.cpu; the names are GGUF's.
enum class Format : int32_t { q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k };

// A weight is scale * (q - offset) - min, with q unsigned. halves: scales in a block. A group is the scales of all its
// blocks, padded to 64 bytes, then its quants; a block's quants are bits * 64 bytes.
struct Traits {
    int bits, offset, halves, blocks_per_scale, scale_bytes;
    bool has_min;
};

constexpr Traits traits(Format format) {
    switch (format) {
        case Format::q4_0: return {4, 8, 1, 1, 32, false};
        case Format::q4_1: return {4, 0, 1, 1, 64, true};
        case Format::q5_0: return {5, 16, 1, 1, 32, false};
        case Format::q5_1: return {5, 0, 1, 1, 64, true};
        case Format::q8_0: return {8, 128, 1, 1, 32, false};
        case Format::q4_k: return {4, 0, 1, kSuper, 320, true};
        case Format::q5_k: return {5, 0, 1, kSuper, 320, true};
        case Format::q6_k: return {6, 32, 2, kSuper, 288, false};
    }
    return {};
}

struct Matrix {
    Format format;
    int32_t outputs, inputs;
    const uint8_t* data;

    int groups() const { return (outputs + kGroup - 1) / kGroup; }
    int padded_outputs() const { return groups() * kGroup; }
    int blocks() const { return inputs / kBlock; }
    size_t scales_bytes() const {
        const Traits t = traits(format);
        const size_t units = (blocks() + t.blocks_per_scale - 1) / t.blocks_per_scale;
        return (units * t.scale_bytes + 63) / 64 * 64;
    }
    size_t tile_bytes() const { return static_cast<size_t>(traits(format).bits) * 64; }
    size_t group_bytes() const { return scales_bytes() + blocks() * tile_bytes(); }
    const uint8_t* scales(int group) const { return data + group * group_bytes(); }
    const uint8_t* quants(int group) const { return scales(group) + scales_bytes(); }
};

constexpr int kRowTile = 16;  // rows of activations that lie together

// Rows of activations quantised to scale * int8 in blocks of 32. A tile of 16 rows lies together, block after block, so
// that a kernel steps through all of them with one pointer; the last tile is there as a whole.
// values: [tile][block][row][32]; scales, and sums of a block's int8 values: [tile][block][row]; minus_sums: the same
// sums negated, of the block and of its halves: [tile][block][3][row].
struct Activations {
    int rows, inputs;
    int8_t* values;
    float* scales;
    float* sums;
    int32_t* minus_sums;

    int blocks() const { return inputs / kBlock; }
    size_t place(int row, int block) const {
        return (static_cast<size_t>(row / kRowTile) * blocks() + block) * kRowTile + row % kRowTile;
    }
};

// Half-precision keys and values of one layer. keys: [head][position / 16][size][16]; values: [head][position][size].
struct LayerCache {
    uint16_t* keys;
    uint16_t* values;
    int capacity, heads, size;

    uint16_t* key_block(int head, int position) const {
        return keys + (static_cast<size_t>(head) * capacity + position / kGroup * kGroup) * size;
    }
    uint16_t* value(int head, int position) const {
        return values + (static_cast<size_t>(head) * capacity + position) * size;
    }
};

// Queries of one key head: query i, at queries + i * query_stride and already scaled, sees positions
// 0..position[i]; what it gathers goes to outputs + the same offset. scratch: count rows of `extent` floats.
constexpr int kMostQueries = 6;
struct AttentionTask {
    LayerCache cache;
    int head, count;
    const float* queries[kMostQueries];
    float* outputs[kMostQueries];
    int positions[kMostQueries];
    float* scratch;
    int extent;
};

struct TopTwo {
    int32_t first, second;
    float first_logit, second_logit;
};

}  // namespace completer
