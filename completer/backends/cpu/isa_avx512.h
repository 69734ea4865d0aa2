// Sixteen lanes: AVX-512 with the dot product instruction of AVX512-VNNI.
#pragma once

#include <immintrin.h>

#include "tensor.h"

namespace completer {
namespace {

struct Isa512 {
    static constexpr int lanes = 16;
    static constexpr int most_rows = 8;
    using Floats = __m512;
    using Ints = __m512i;

    static Floats zero() { return _mm512_setzero_ps(); }
    static Floats set(float x) { return _mm512_set1_ps(x); }
    static Floats load(const float* p) { return _mm512_loadu_ps(p); }
    static void store(float* p, Floats x) { _mm512_storeu_ps(p, x); }
    static Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
    static Floats sub(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
    static Floats mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
    static Floats div(Floats a, Floats b) { return _mm512_div_ps(a, b); }
    static Floats max(Floats a, Floats b) { return _mm512_max_ps(a, b); }
    static Floats min(Floats a, Floats b) { return _mm512_min_ps(a, b); }
    static Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
    static Floats fnma(Floats a, Floats b, Floats c) { return _mm512_fnmadd_ps(a, b, c); }
    static Floats abs(Floats a) { return _mm512_abs_ps(a); }
    static Ints round(Floats a) { return _mm512_cvtps_epi32(a); }
    static Floats convert(Ints a) { return _mm512_cvtepi32_ps(a); }
    static Floats power_of_two(Ints n) {
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(127)), 23));
    }
    static Floats load_half(const uint16_t* p) {
        return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    }
    static void store_half(uint16_t* p, Floats x) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    }
    static Floats load_unsigned(const uint8_t* p) {
        return convert(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
    }
    static Floats load_signed(const uint8_t* p) {
        return convert(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
    }
    static void store_bytes(int8_t* p, Ints a) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(a));
    }
    static int32_t sum(Ints a) { return _mm512_reduce_add_epi32(a); }

    static Ints ints(int32_t x) { return _mm512_set1_epi32(x); }
    template <int Power>
    static Ints times_power(Ints a) { return _mm512_slli_epi32(a, Power); }  // of two
    static Ints load_bytes(const uint8_t* p) { return _mm512_loadu_si512(p); }
    static Ints and_bytes(Ints a, uint8_t mask) { return _mm512_and_si512(a, _mm512_set1_epi8(static_cast<char>(mask))); }
    static Ints or_masked(Ints a, Ints b, uint8_t mask) {
        constexpr int a_or_b_and_mask = 0xF8;
        return _mm512_ternarylogic_epi32(a, b, _mm512_set1_epi8(static_cast<char>(mask)), a_or_b_and_mask);
    }
    template <int Bits>
    static Ints shift(Ints a) {  // to the left, or to the right where Bits < 0; crosses bytes
        if constexpr (Bits >= 0) return _mm512_slli_epi16(a, Bits);
        else return _mm512_srli_epi16(a, -Bits);
    }

    // start + the sum over j < Count of the four products in each lane of weights[j] (unsigned) with x[4j..4j+3].
    template <int Bits, int Count>
    static Ints dot(Ints start, const Ints* weights, const int8_t* x) {
        for (int j = 0; j < Count; ++j) {
            int32_t word;
            __builtin_memcpy(&word, x + 4 * j, 4);
            start = _mm512_dpbusd_epi32(start, weights[j], _mm512_set1_epi32(word));
        }
        return start;
    }
};

}  // namespace
}  // namespace completer
