// A tile, 16 outputs x 32 inputs, from its packed form into registers. Byte 4 * lane + i of weights[j] is the quant of
// output `lane` and input 4 * j + i: what the dot product instructions want.
#pragma once

#include <utility>

#include "tensor.h"

namespace completer {
namespace {

template <class Isa, int Bits, int J>
typename Isa::Ints unpack_one(const typename Isa::Ints* packed) {
    if constexpr (Bits == 8) {
        return packed[J];
    } else {
        const auto nibble = Isa::and_bytes(J < 4 ? packed[J % 4] : Isa::template shift<-4>(packed[J % 4]), 15);
        if constexpr (Bits == 5) return Isa::or_masked(nibble, Isa::template shift<4 - J>(packed[4]), 0x10);
        else if constexpr (Bits == 6)
            return Isa::or_masked(nibble, Isa::template shift<4 - 2 * (J % 4)>(packed[4 + J / 4]), 0x30);
        else return nibble;
    }
}

template <class Isa, int Bits, int... J>
void unpack_all(const typename Isa::Ints* packed, typename Isa::Ints* weights, std::integer_sequence<int, J...>) {
    ((weights[J] = unpack_one<Isa, Bits, J>(packed)), ...);
}

// tile: where the part of the first lane begins.
template <class Isa, int Bits>
inline void unpack(const uint8_t* tile, typename Isa::Ints* weights) {
    typename Isa::Ints packed[Bits];
    for (int i = 0; i < Bits; ++i) packed[i] = Isa::load_bytes(tile + 64 * i);
    unpack_all<Isa, Bits>(packed, weights, std::make_integer_sequence<int, 8>());
}

constexpr int kFetchDistance = 8192;  // bytes; the processor's own prefetching stays too close to hide the arithmetic

// Asks for what will be multiplied some tiles later. Behind the last matrix nothing comes of it.
template <int Lines>
inline void fetch_ahead(const uint8_t* tile) {
    for (int i = 0; i < Lines; ++i) __builtin_prefetch(tile + kFetchDistance + 64 * i);
}

// The scales of one block for the lanes from `lane` on, and what is subtracted for each unit of activation.
template <class Isa, Format F>
struct Scales {
    typename Isa::Floats scale[2], min;

    Scales(const uint8_t* scales, int block, int lane) {
        constexpr Traits t = traits(F);
        const uint8_t* unit = scales + static_cast<size_t>(block / t.blocks_per_scale) * t.scale_bytes;
        const int sub = block % t.blocks_per_scale;
        scale[0] = Isa::load_half(reinterpret_cast<const uint16_t*>(unit) + lane);
        if constexpr (t.has_min) min = Isa::load_half(reinterpret_cast<const uint16_t*>(unit + 32) + lane);
        if constexpr (t.halves == 2) {
            const uint8_t* factors = unit + 32 + 32 * sub + lane;
            scale[1] = Isa::mul(scale[0], Isa::load_signed(factors + 16));
            scale[0] = Isa::mul(scale[0], Isa::load_signed(factors));
        } else if constexpr (t.blocks_per_scale > 1) {
            scale[0] = Isa::mul(scale[0], Isa::load_unsigned(unit + 64 + 16 * sub + lane));
            min = Isa::mul(min, Isa::load_unsigned(unit + 64 + 16 * kSuper + 16 * sub + lane));
        }
    }
};

}  // namespace
}  // namespace completer
