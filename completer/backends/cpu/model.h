// A decoder of the Qwen2 and Llama kind: from token ids to logits in one call. Reads weights, keeps none of its own.
#pragma once

#include <memory>
#include <vector>

#include "buffer.h"
#include "kernels.h"
#include "pool.h"

namespace completer {

struct Shape {
    int32_t layers, hidden, intermediate, heads, key_heads, head_size, vocabulary;
    float epsilon, rope_base;

    int query_outputs() const { return heads * head_size; }
    int key_outputs() const { return key_heads * head_size; }
};

struct Layer {
    const float *attention_norm, *mlp_norm;
    Matrix query, key, value, output, gate, up, down;
    const float *query_bias, *key_bias, *value_bias;  // null where the model has none
};

struct Weights {
    Matrix embedding, head;
    const float* norm;
    std::vector<Layer> layers;
};

// The keys and values of all layers in one piece of memory, `length` positions filled. See LayerCache.
struct Cache {
    uint16_t* memory;
    int32_t capacity, length;
};

// Tokens of one text in a pass: `width` of them, to be appended behind cache.length.
struct Part {
    Cache cache;
    int32_t width;
};

constexpr int kMostWidth = 128;  // rows of one sweep over the weights

class Model {
public:
    Model(const Shape& shape, Weights weights, const Kernels& kernels, int threads);

    // Appends `width` tokens behind cache.length and answers for the last `rows` of them: logits are
    // rows x padded_vocabulary(), top one entry a row. Ids must lie in the vocabulary, and the cache have room.
    void forward(const Cache& cache, const int32_t* token_ids, int width, int rows, float* logits, TopTwo* top);

    // The same for several texts in one sweep over the weights, and answers for every token. token_ids: those of the
    // first text, then of the next; at most kMostWidth in all.
    void forward_batch(const Part* parts, int count, const int32_t* token_ids, float* logits, TopTwo* top);

    int padded_vocabulary() const { return weights_.head.padded_outputs(); }

private:
    struct Product {
        const Matrix* matrix;
        float* out;
    };

    // Where a row of the pass belongs.
    struct Place {
        int part, position;
    };

    // Queries of one key head that are looked at together: `count` from `first` on, all of one part.
    struct Piece {
        int part, first, count;
    };

    void sweep(const Part* parts, int count, const int32_t* token_ids, int rows, float* logits, TopTwo* top);
    void lay_out(const Part* parts, int count);
    void reserve(int width, int positions);
    void embed(const int32_t* token_ids, int width);
    void prepare_angles(int width);
    void attend(const Layer& layer, int number, const Part* parts, int width);
    void place(const Layer& layer, const LayerCache& cache, int row);
    void run_mlp(const Layer& layer, int width);
    void normalise(const float* residual, const float* weight, int first, int rows);
    void multiply(std::initializer_list<Product> products, const Activations& x);
    Activations activations(int rows, int inputs);
    LayerCache layer_cache(const Cache& cache, int layer) const;

    Shape shape_;
    Weights weights_;
    const Kernels& kernels_;
    Pool pool_;
    Buffer<float> hidden_, normed_, queries_, keys_, values_, mixed_, projected_, gates_, ups_, scores_;
    Buffer<float> cosines_, sines_;
    Buffer<int8_t> quantised_;
    Buffer<float> scales_, sums_;
    Buffer<int32_t> minus_sums_;
    std::vector<Place> places_;  // of the rows of a pass
    std::vector<int> first_rows_;  // of its parts
    std::vector<Piece> pieces_;
    int extent_ = 0;  // positions of its longest part, in whole tiles
};

}  // namespace completer
