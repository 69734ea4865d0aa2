// The C ABI that completer/backends/cpu/library.py calls. Python owns all memory but a model's scratch.
#include <exception>

#include "kernels.h"
#include "model.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace completer;

namespace {

// format < 0: outputs x inputs float32.
struct Tensor {
    int32_t format, outputs, inputs, unused;
    const void* data;

    Matrix matrix() const {
        return {static_cast<Format>(format), outputs, inputs, static_cast<const uint8_t*>(data)};
    }
    const float* floats() const { return static_cast<const float*>(data); }
};

constexpr int kTensorsBefore = 3;
constexpr int kTensorsOfLayer = 12;

Weights weights_of(const Shape& shape, const Tensor* tensors) {
    Weights weights{tensors[0].matrix(), tensors[1].matrix(), tensors[2].floats(), {}};
    for (int i = 0; i < shape.layers; ++i) {
        const Tensor* t = tensors + kTensorsBefore + i * kTensorsOfLayer;
        weights.layers.push_back({t[0].floats(), t[1].floats(), t[2].matrix(), t[3].matrix(), t[4].matrix(),
                                  t[5].matrix(), t[6].matrix(), t[7].matrix(), t[8].matrix(), t[9].floats(),
                                  t[10].floats(), t[11].floats()});
    }
    return weights;
}

}  // namespace

// The level of instructions in use when none better than `level` may be; null where this processor has none.
EXPORT const char* completer_level(const char* level) {
    const Kernels* kernels = choose_kernels(level);
    return kernels == nullptr ? nullptr : kernels->name;
}

// Bytes of a matrix in model.cpu.
EXPORT int64_t completer_matrix_bytes(const Tensor* tensor) {
    const Matrix matrix = tensor->matrix();
    return static_cast<int64_t>(matrix.group_bytes()) * matrix.groups();
}

// tensors: embedding, head, last norm; then of each layer the two norms, query, key, value, output, gate, up, down, and
// the biases of the first three (data null where there are none). Null when memory or threads do not suffice.
EXPORT Model* completer_open(const Shape* shape, const Tensor* tensors, int32_t threads, const char* level) {
    try {
        return new Model(*shape, weights_of(*shape, tensors), *choose_kernels(level), threads);
    } catch (const std::exception&) {
        return nullptr;
    }
}

EXPORT void completer_close(Model* model) { delete model; }

EXPORT int32_t completer_padded_vocabulary(const Model* model) { return model->padded_vocabulary(); }

// See Model::forward. Returns 0, or 1 when memory does not suffice.
EXPORT int32_t completer_forward(Model* model, const Cache* cache, const int32_t* token_ids, int32_t width,
                                 int32_t rows, float* logits, TopTwo* top) {
    try {
        model->forward(*cache, token_ids, width, rows, logits, top);
        return 0;
    } catch (const std::exception&) {
        return 1;
    }
}

// See Model::forward_batch. Returns 0, or 1 when memory does not suffice.
EXPORT int32_t completer_forward_batch(Model* model, const Part* parts, int32_t count,
                                       const int32_t* token_ids, float* logits, TopTwo* top) {
    try {
        model->forward_batch(parts, count, token_ids, logits, top);
        return 0;
    } catch (const std::exception&) {
        return 1;
    }
}

EXPORT float completer_log_sum_exp(const float* logits, int32_t size, const char* level) {
    return choose_kernels(level)->log_sum_exp(logits, size);
}

EXPORT void completer_top_two(const float* logits, int32_t size, const char* level, TopTwo* top) {
    *top = choose_kernels(level)->top_two(logits, size);
}

// x: rows x inputs. out: rows x the matrix's outputs, filled up to a multiple of 16. Returns 0, or 1 when memory does not
// suffice.
EXPORT int32_t completer_multiply(const Tensor* tensor, const float* x, int32_t rows, float* out, const char* level) {
    try {
        const Kernels& kernels = *choose_kernels(level);
        const Matrix matrix = tensor->matrix();
        const size_t whole_rows = (rows + kRowTile - 1) / kRowTile * kRowTile, blocks = matrix.blocks();
        Buffer<int8_t> values;
        Buffer<float> scales, sums;
        Buffer<int32_t> minus_sums;
        values.reserve(whole_rows * matrix.inputs);
        scales.reserve(whole_rows * blocks);
        sums.reserve(whole_rows * blocks);
        minus_sums.reserve(whole_rows * blocks * 3);
        const Activations quantised{rows, matrix.inputs, values.data(), scales.data(), sums.data(), minus_sums.data()};
        for (int row = 0; row < rows; ++row)
            kernels.quantise(x + static_cast<size_t>(row) * matrix.inputs, quantised, row, 0, quantised.blocks());
        kernels.multiply(matrix, quantised, 0, matrix.groups(), out, matrix.padded_outputs());
        return 0;
    } catch (const std::exception&) {
        return 1;
    }
}
