// Sixteen floats whatever the instructions, so that sums fall into the same sixteen lanes everywhere.
#pragma once

#include "tensor.h"

namespace completer {
namespace {

template <class Isa>
struct Wide {
    static constexpr int parts = kGroup / Isa::lanes;
    using Floats = typename Isa::Floats;
    Floats part[parts];

    template <class Make>
    static Wide make(Make&& one) {
        Wide result;
        for (int i = 0; i < parts; ++i) result.part[i] = one(i);
        return result;
    }
    static Wide set(float x) { return make([&](int) { return Isa::set(x); }); }
    static Wide load(const float* p) { return make([&](int i) { return Isa::load(p + i * Isa::lanes); }); }
    static Wide load_half(const uint16_t* p) { return make([&](int i) { return Isa::load_half(p + i * Isa::lanes); }); }
    void store(float* p) const {
        for (int i = 0; i < parts; ++i) Isa::store(p + i * Isa::lanes, part[i]);
    }
    void store_half(uint16_t* p) const {  // what no half can hold becomes the largest that one can
        const Floats most = Isa::set(65504.0f), least = Isa::set(-65504.0f);
        for (int i = 0; i < parts; ++i)
            Isa::store_half(p + i * Isa::lanes, Isa::min(Isa::max(part[i], least), most));
    }
    friend Wide operator+(const Wide& a, const Wide& b) {
        return make([&](int i) { return Isa::add(a.part[i], b.part[i]); });
    }
    friend Wide operator-(const Wide& a, const Wide& b) {
        return make([&](int i) { return Isa::sub(a.part[i], b.part[i]); });
    }
    friend Wide operator*(const Wide& a, const Wide& b) {
        return make([&](int i) { return Isa::mul(a.part[i], b.part[i]); });
    }
    friend Wide operator/(const Wide& a, const Wide& b) {
        return make([&](int i) { return Isa::div(a.part[i], b.part[i]); });
    }
    static Wide fma(const Wide& a, const Wide& b, const Wide& c) {
        return make([&](int i) { return Isa::fma(a.part[i], b.part[i], c.part[i]); });
    }
    static Wide max(const Wide& a, const Wide& b) {
        return make([&](int i) { return Isa::max(a.part[i], b.part[i]); });
    }
    Wide abs() const {
        return make([&](int i) { return Isa::abs(part[i]); });
    }

    template <class Join>
    float reduce(Join&& join) const {
        float lanes[kGroup];
        store(lanes);
        for (int half = kGroup / 2; half > 0; half /= 2)
            for (int i = 0; i < half; ++i) lanes[i] = join(lanes[i], lanes[i + half]);
        return lanes[0];
    }
    float sum() const {
        return reduce([](float a, float b) { return a + b; });
    }
    float largest() const {
        return reduce([](float a, float b) { return a > b ? a : b; });
    }

    // e^x to about 1e-7 of itself; x below -87 counts as -87. Cephes' expf.
    static Wide exp(const Wide& x) {
        return make([&](int i) {
            const Floats clamped = Isa::min(Isa::max(x.part[i], Isa::set(-87.0f)), Isa::set(88.0f));
            const auto n = Isa::round(Isa::mul(clamped, Isa::set(1.44269504f)));
            const Floats turns = Isa::convert(n);
            Floats r = Isa::fnma(turns, Isa::set(0.693359375f), clamped);
            r = Isa::fnma(turns, Isa::set(-2.12194440e-4f), r);
            Floats p = Isa::set(1.9875691500e-4f);
            for (float c : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
                p = Isa::fma(p, r, Isa::set(c));
            p = Isa::fma(Isa::mul(p, r), r, Isa::add(r, Isa::set(1.0f)));
            return Isa::mul(p, Isa::power_of_two(n));
        });
    }
};

}  // namespace
}  // namespace completer
