// Eight lanes: AVX2, with or without the dot product instruction of AVX-VNNI.
#pragma once

#include <immintrin.h>

#include "tensor.h"

namespace completer {
namespace {

template <bool HasVnni>
struct Isa256 {
    static constexpr int lanes = 8;
    static constexpr int most_rows = 4;
    using Floats = __m256;
    using Ints = __m256i;

    static Floats zero() { return _mm256_setzero_ps(); }
    static Floats set(float x) { return _mm256_set1_ps(x); }
    static Floats load(const float* p) { return _mm256_loadu_ps(p); }
    static void store(float* p, Floats x) { _mm256_storeu_ps(p, x); }
    static Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
    static Floats sub(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
    static Floats mul(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
    static Floats div(Floats a, Floats b) { return _mm256_div_ps(a, b); }
    static Floats max(Floats a, Floats b) { return _mm256_max_ps(a, b); }
    static Floats min(Floats a, Floats b) { return _mm256_min_ps(a, b); }
    static Floats fma(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
    static Floats fnma(Floats a, Floats b, Floats c) { return _mm256_fnmadd_ps(a, b, c); }
    static Floats abs(Floats a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
    static Ints round(Floats a) { return _mm256_cvtps_epi32(a); }
    static Floats convert(Ints a) { return _mm256_cvtepi32_ps(a); }
    static Floats power_of_two(Ints n) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
    }
    static Floats load_half(const uint16_t* p) {
        return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    }
    static void store_half(uint16_t* p, Floats x) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    }
    static Floats load_unsigned(const uint8_t* p) {
        return convert(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
    }
    static Floats load_signed(const uint8_t* p) {
        return convert(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
    }
    static void store_bytes(int8_t* p, Ints a) {
        const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, words));
    }
    static int32_t sum(Ints a) {
        __m128i x = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
        x = _mm_add_epi32(x, _mm_shuffle_epi32(x, 0x4E));
        return _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32(x, 0xB1)));
    }

    static Ints ints(int32_t x) { return _mm256_set1_epi32(x); }
    template <int Power>
    static Ints times_power(Ints a) { return _mm256_slli_epi32(a, Power); }  // of two
    static Ints load_bytes(const uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
    static Ints and_bytes(Ints a, uint8_t mask) { return _mm256_and_si256(a, _mm256_set1_epi8(static_cast<char>(mask))); }
    static Ints or_masked(Ints a, Ints b, uint8_t mask) { return _mm256_or_si256(a, and_bytes(b, mask)); }
    template <int Bits>
    static Ints shift(Ints a) {  // to the left, or to the right where Bits < 0; crosses bytes
        if constexpr (Bits >= 0) return _mm256_slli_epi16(a, Bits);
        else return _mm256_srli_epi16(a, -Bits);
    }

    // start + the sum over j < Count of the four products in each lane of weights[j] (unsigned) with x[4j..4j+3].
    template <int Bits, int Count>
    static Ints dot(Ints start, const Ints* weights, const int8_t* x) {
        if constexpr (HasVnni) {
            for (int j = 0; j < Count; ++j) start = _mm256_dpbusd_avx_epi32(start, weights[j], four(x + 4 * j));
            return start;
        } else if constexpr (Bits == 8) {  // in two halves, or the sums of pairs would not fit 16 bits
            Ints low = start, high = _mm256_setzero_si256();
            for (int j = 0; j < Count; ++j) {
                const Ints v = four(x + 4 * j);
                low = _mm256_add_epi32(low, pairs(_mm256_maddubs_epi16(and_bytes(weights[j], 15), v)));
                high = _mm256_add_epi32(high, pairs(_mm256_maddubs_epi16(and_bytes(shift<-4>(weights[j]), 15), v)));
            }
            return _mm256_add_epi32(low, _mm256_slli_epi32(high, 4));
        } else {
            constexpr int fitting = Bits == 4 ? 8 : Bits == 5 ? 4 : 2;  // pairs whose sum stays below 2^15
            for (int j = 0; j < Count; j += fitting) {
                Ints sums = _mm256_maddubs_epi16(weights[j], four(x + 4 * j));
                for (int i = j + 1; i < j + fitting && i < Count; ++i)
                    sums = _mm256_add_epi16(sums, _mm256_maddubs_epi16(weights[i], four(x + 4 * i)));
                start = _mm256_add_epi32(start, pairs(sums));
            }
            return start;
        }
    }

private:
    static Ints four(const int8_t* x) {
        int32_t word;
        __builtin_memcpy(&word, x, 4);
        return _mm256_set1_epi32(word);
    }
    static Ints pairs(Ints words) { return _mm256_madd_epi16(words, _mm256_set1_epi16(1)); }
};

}  // namespace
}  // namespace completer
