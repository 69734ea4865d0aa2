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

class Model {
public:
    Model(const Shape& shape, Weights weights, const Kernels& kernels, int threads);

    // Appends `width` tokens behind cache.length and answers for the last `rows` of them: logits are
    // rows x padded_vocabulary(), top one entry a row. Ids must lie in the vocabulary, and the cache have room.
    void forward(const Cache& cache, const int32_t* token_ids, int width, int rows, float* logits, TopTwo* top);

    int padded_vocabulary() const { return weights_.head.padded_outputs(); }

private:
    struct Product {
        const Matrix* matrix;
        float* out;
    };

    void forward_narrow(const Cache& cache, const int32_t* token_ids, int width, int rows, float* logits, TopTwo* top);
    void reserve(int width, int positions);
    void embed(const int32_t* token_ids, int width);
    void prepare_angles(int first_position, int width);
    void attend(const Layer& layer, const LayerCache& cache, int past, int width);
    void place(const Layer& layer, const LayerCache& cache, int past, int row);
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
};

}  // namespace completer
