// The arithmetic of a pass as a table of functions, one table for each level of instructions. All tables give the same
// bits: integer dot products are exact, and floats are added in an order that depends on the row alone.
#pragma once

#include "tensor.h"

namespace completer {

struct Kernels {
    const char* name;
    // Groups first..last of all rows' outputs, to out[row * stride + output].
    void (*multiply)(const Matrix&, const Activations&, int first, int last, float* out, size_t stride);
    // Blocks first..last of a row of x.
    void (*quantise)(const float* x, const Activations&, int row, int first, int last);
    void (*normalise)(const float* x, const float* weight, float epsilon, int size, float* out);
    void (*add)(float* x, const float* y, int size);
    // silu(gate) * up, to gate. size: a multiple of 16.
    void (*gate)(float* gate, const float* up, int size);
    // Rotate the halves of one head by angles; out = scale * rotated.
    void (*rotate)(const float* x, const float* cosines, const float* sines, int size, float scale, float* out);
    void (*store_key)(const LayerCache&, int head, int position, const float* key);
    void (*store_value)(const LayerCache&, int head, int position, const float* value);
    void (*attend)(const AttentionTask&);
    void (*dequantise_row)(const Matrix&, int row, float* out);
    TopTwo (*top_two)(const float* logits, int size);
    // log(sum(exp(logits)))
    float (*log_sum_exp)(const float* logits, int size);
};

extern const Kernels kAvx2, kAvxVnni, kAvx512, kAmx;

// The best table this processor and the operating system allow, no better than level ("avx2", "avx-vnni",
// "avx512-vnni", "amx"; empty for no limit); null where there is none.
const Kernels* choose_kernels(const char* level);

}  // namespace completer
