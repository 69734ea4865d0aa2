#include "model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace completer {
namespace {

constexpr size_t kPieceBytes = 192 << 10;  // of weights that a thread takes at a time
constexpr int kPieceBlocks = 32;      // of activations

int whole_tiles(int rows) { return (rows + kRowTile - 1) / kRowTile * kRowTile; }

}  // namespace

Model::Model(const Shape& shape, Weights weights, const Kernels& kernels, int threads)
    : shape_(shape), weights_(std::move(weights)), kernels_(kernels), pool_(threads) {}

void Model::forward(const Cache& cache, const int32_t* token_ids, int width, int rows, float* logits, TopTwo* top) {
    Cache behind = cache;
    for (int start = 0; start < width; start += kMostWidth) {
        const int count = std::min(kMostWidth, width - start);
        const int first_answer = std::max(width - rows, start);
        const int answers = std::max(0, start + count - first_answer);
        const int answered = std::max(0, start - (width - rows));
        const Part part{behind, count};
        sweep(&part, 1, token_ids + start, answers,
              logits + static_cast<size_t>(answered) * padded_vocabulary(), top + answered);
        behind.length += count;
    }
}

void Model::forward_batch(const Part* parts, int count, const int32_t* token_ids, float* logits, TopTwo* top) {
    int width = 0;
    for (int i = 0; i < count; ++i) width += parts[i].width;
    sweep(parts, count, token_ids, width, logits, top);
}

void Model::sweep(const Part* parts, int count, const int32_t* token_ids, int rows, float* logits,
                  TopTwo* top) {
    lay_out(parts, count);
    const int width = static_cast<int>(places_.size());
    reserve(width, extent_);
    embed(token_ids, width);
    prepare_angles(width);
    const float* residual = nullptr;
    for (int i = 0; i < shape_.layers; ++i) {
        const Layer& layer = weights_.layers[i];
        normalise(residual, layer.attention_norm, 0, width);
        attend(layer, i, parts, width);
        normalise(projected_.data(), layer.mlp_norm, 0, width);
        run_mlp(layer, width);
        residual = projected_.data();
    }
    if (rows == 0) return;
    normalise(residual, weights_.norm, width - rows, rows);
    multiply({{&weights_.head, logits}}, activations(rows, shape_.hidden));
    pool_.run(rows, 1, [&](int begin, int end, int) {
        for (int row = begin; row < end; ++row)
            top[row] = kernels_.top_two(logits + static_cast<size_t>(row) * padded_vocabulary(), shape_.vocabulary);
    });
}

// Which rows and queries of the pass are whose.
void Model::lay_out(const Part* parts, int count) {
    places_.clear();
    first_rows_.clear();
    pieces_.clear();
    extent_ = 0;
    for (int i = 0; i < count; ++i) {
        const int past = parts[i].cache.length, width = parts[i].width;
        first_rows_.push_back(static_cast<int>(places_.size()));
        for (int row = 0; row < width; ++row) places_.push_back({i, past + row});
        extent_ = std::max(extent_, whole_tiles(past + width));
    }
    const int sharing = shape_.heads / shape_.key_heads;
    const int all = static_cast<int>(places_.size()) * shape_.heads;
    const int together = std::clamp((all + pool_.threads() - 1) / pool_.threads(), 1, kMostQueries);
    for (int i = 0; i < count; ++i) {
        const int queries = parts[i].width * sharing;
        for (int first = 0; first < queries; first += together)
            pieces_.push_back({i, first, std::min(together, queries - first)});
    }
}

void Model::reserve(int width, int positions) {
    const size_t rows = whole_tiles(width);
    const size_t hidden = shape_.hidden, intermediate = whole_tiles(shape_.intermediate);
    const size_t inputs = std::max({shape_.hidden, shape_.intermediate, shape_.query_outputs()});
    hidden_.reserve(rows * hidden);
    normed_.reserve(rows * hidden);
    queries_.reserve(rows * shape_.query_outputs());
    keys_.reserve(rows * shape_.key_outputs());
    values_.reserve(rows * shape_.key_outputs());
    mixed_.reserve(rows * shape_.query_outputs());
    projected_.reserve(rows * hidden);
    gates_.reserve(rows * intermediate);
    ups_.reserve(rows * intermediate);
    scores_.reserve(static_cast<size_t>(pool_.threads()) * kMostQueries * whole_tiles(positions));
    cosines_.reserve(rows * shape_.head_size / 2);
    sines_.reserve(rows * shape_.head_size / 2);
    quantised_.reserve(rows * inputs);
    scales_.reserve(rows * inputs / kBlock);
    sums_.reserve(rows * inputs / kBlock);
    minus_sums_.reserve(rows * inputs / kBlock * 3);
}

void Model::embed(const int32_t* token_ids, int width) {
    for (int row = 0; row < width; ++row)
        kernels_.dequantise_row(weights_.embedding, token_ids[row],
                                hidden_.data() + static_cast<size_t>(row) * shape_.hidden);
}

void Model::prepare_angles(int width) {
    const int half = shape_.head_size / 2;
    for (int i = 0; i < half; ++i) {
        const float frequency =
            1.0f / static_cast<float>(std::pow(static_cast<double>(shape_.rope_base), static_cast<double>(i) / half));
        for (int row = 0; row < width; ++row) {
            const double angle = static_cast<float>(places_[row].position) * frequency;
            cosines_.data()[row * half + i] = static_cast<float>(std::cos(angle));
            sines_.data()[row * half + i] = static_cast<float>(std::sin(angle));
        }
    }
}

// Adds what the last step gave to `rows` rows from `first` on, and leaves their norms quantised, as rows from 0 on.
void Model::normalise(const float* residual, const float* weight, int first, int rows) {
    const Activations out = activations(rows, shape_.hidden);
    pool_.run(rows, 1, [&](int begin, int end, int) {
        for (int row = begin; row < end; ++row) {
            const size_t at = static_cast<size_t>(first + row) * shape_.hidden;
            if (residual != nullptr) kernels_.add(hidden_.data() + at, residual + at, shape_.hidden);
            kernels_.normalise(hidden_.data() + at, weight, shape_.epsilon, shape_.hidden, normed_.data() + at);
            kernels_.quantise(normed_.data() + at, out, row, 0, out.blocks());
        }
    });
}

void Model::attend(const Layer& layer, int number, const Part* parts, int width) {
    multiply({{&layer.query, queries_.data()}, {&layer.key, keys_.data()}, {&layer.value, values_.data()}},
             activations(width, shape_.hidden));
    pool_.run(width, 1, [&](int begin, int end, int) {
        for (int row = begin; row < end; ++row)
            place(layer, layer_cache(parts[places_[row].part].cache, number), row);
    });
    const int sharing = shape_.heads / shape_.key_heads, pieces = static_cast<int>(pieces_.size());
    pool_.run(pieces * shape_.key_heads, 1, [&](int begin, int end, int thread) {
        for (int i = begin; i < end; ++i) {
            const Piece& piece = pieces_[i % pieces];
            const Part& part = parts[piece.part];
            const int extent = whole_tiles(part.cache.length + part.width);
            AttentionTask task{layer_cache(part.cache, number), i / pieces, 0, {}, {}, {}, nullptr, extent};
            task.scratch = scores_.data() + static_cast<size_t>(thread) * kMostQueries * extent_;
            for (int query = piece.first; query < piece.first + piece.count; ++query) {
                const int row = first_rows_[piece.part] + query / sharing;
                const int head = task.head * sharing + query % sharing;
                const size_t at = (static_cast<size_t>(row) * shape_.heads + head) * shape_.head_size;
                task.queries[task.count] = queries_.data() + at;
                task.outputs[task.count] = mixed_.data() + at;
                task.positions[task.count++] = places_[row].position;
            }
            kernels_.attend(task);
        }
    });
    const Activations mixed = activations(width, shape_.query_outputs());
    pool_.run(width, 1, [&](int begin, int end, int) {
        for (int row = begin; row < end; ++row)
            kernels_.quantise(mixed_.data() + static_cast<size_t>(row) * mixed.inputs, mixed, row, 0, mixed.blocks());
    });
    multiply({{&layer.output, projected_.data()}}, mixed);
}

// Biases and rotary positions of one row; its key and value go to the cache.
void Model::place(const Layer& layer, const LayerCache& cache, int row) {
    const int position = places_[row].position;
    const int size = shape_.head_size;
    const float* cosines = cosines_.data() + static_cast<size_t>(row) * size / 2;
    const float* sines = sines_.data() + static_cast<size_t>(row) * size / 2;
    float* query = queries_.data() + static_cast<size_t>(row) * shape_.query_outputs();
    float* key = keys_.data() + static_cast<size_t>(row) * shape_.key_outputs();
    float* value = values_.data() + static_cast<size_t>(row) * shape_.key_outputs();
    if (layer.query_bias != nullptr) kernels_.add(query, layer.query_bias, shape_.query_outputs());
    if (layer.key_bias != nullptr) kernels_.add(key, layer.key_bias, shape_.key_outputs());
    if (layer.value_bias != nullptr) kernels_.add(value, layer.value_bias, shape_.key_outputs());
    const float scale = 1.0f / std::sqrt(static_cast<float>(size));
    for (int head = 0; head < shape_.heads; ++head)
        kernels_.rotate(query + head * size, cosines, sines, size, scale, query + head * size);
    for (int head = 0; head < shape_.key_heads; ++head) {
        kernels_.rotate(key + head * size, cosines, sines, size, 1.0f, key + head * size);
        kernels_.store_key(cache, head, position, key + head * size);
        kernels_.store_value(cache, head, position, value + head * size);
    }
}

void Model::run_mlp(const Layer& layer, int width) {
    multiply({{&layer.gate, gates_.data()}, {&layer.up, ups_.data()}}, activations(width, shape_.hidden));
    const Activations gated = activations(width, shape_.intermediate);
    const int blocks = gated.blocks(), pieces = (blocks + kPieceBlocks - 1) / kPieceBlocks;
    pool_.run(width * pieces, 4, [&](int begin, int end, int) {
        for (int piece = begin; piece < end; ++piece) {
            const int row = piece / pieces, first = piece % pieces * kPieceBlocks;
            const int last = std::min(first + kPieceBlocks, blocks);
            const size_t at = static_cast<size_t>(row) * layer.gate.padded_outputs();
            const int offset = first * kBlock;
            kernels_.gate(gates_.data() + at + offset, ups_.data() + at + offset, (last - first) * kBlock);
            kernels_.quantise(gates_.data() + at, gated, row, first, last);
        }
    });
    multiply({{&layer.down, projected_.data()}}, gated);
}

void Model::multiply(std::initializer_list<Product> products, const Activations& x) {
    int groups = 0;
    size_t bytes = 0;
    for (const Product& product : products) {
        groups += product.matrix->groups();
        bytes += product.matrix->groups() * product.matrix->group_bytes();
    }
    const int fair = (groups + 4 * pool_.threads() - 1) / (4 * pool_.threads());
    const int grain = std::clamp(static_cast<int>(kPieceBytes * groups / bytes), 1, std::max(fair, 1));
    pool_.run(groups, grain, [&](int begin, int end, int) {
        int start = 0;
        for (const Product& product : products) {
            const int count = product.matrix->groups();
            const int first = std::max(begin - start, 0), last = std::min(end - start, count);
            if (first < last)
                kernels_.multiply(*product.matrix, x, first, last, product.out, product.matrix->padded_outputs());
            start += count;
        }
    });
}

Activations Model::activations(int rows, int inputs) {
    return {rows, inputs, quantised_.data(), scales_.data(), sums_.data(), minus_sums_.data()};
}

LayerCache Model::layer_cache(const Cache& cache, int layer) const {
    const size_t half = static_cast<size_t>(cache.capacity) * shape_.key_outputs();
    uint16_t* start = cache.memory + 2 * half * layer;
    return {start, start + half, cache.capacity, shape_.key_heads, shape_.head_size};
}

}  // namespace completer
