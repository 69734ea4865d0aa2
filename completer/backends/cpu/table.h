// A table of kernels for one level of instructions. Included by one source file for each, which is compiled for it.
#pragma once

#include "attention.h"
#include "kernels.h"
#include "multiply.h"
#include "rows.h"

namespace completer {
namespace {

template <class Isa>
constexpr Kernels table(const char* name) {
    return {name,
            multiply<Isa>,
            quantise<Isa>,
            normalise<Isa>,
            add<Isa>,
            gate<Isa>,
            rotate<Isa>,
            store_key<Isa>,
            store_value<Isa>,
            attend<Isa>,
            dequantise_row<Isa>,
            top_two<Isa>,
            log_sum_exp<Isa>};
}

}  // namespace
}  // namespace completer
