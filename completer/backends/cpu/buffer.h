// Memory that grows and never shrinks, on cache lines. Its content does not survive growing.
#pragma once

#include <cstddef>
#include <new>

namespace completer {

template <class T>
class Buffer {
public:
    Buffer() = default;
    ~Buffer() { release(); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    T* data() const { return data_; }

    void reserve(size_t count) {
        if (count <= count_) return;
        release();
        data_ = static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
        count_ = count;
    }

private:
    static constexpr std::align_val_t kAlignment{64};

    void release() {
        ::operator delete(data_, kAlignment);
        data_ = nullptr;
        count_ = 0;
    }

    T* data_ = nullptr;
    size_t count_ = 0;
};

}  // namespace completer
