#include "pool.h"

#include <immintrin.h>

#include <algorithm>

namespace completer {
namespace {

constexpr int kClosed = 1 << 30;
constexpr int kSpins = 2000;  // about 0.1 ms: longer than the work between two jobs of a pass
constexpr int kSpinsBeforeYield = 64;

void spin(int turn) {
    _mm_pause();
    if (turn % kSpinsBeforeYield == kSpinsBeforeYield - 1) std::this_thread::yield();
}

}  // namespace

Pool::Pool(int threads) : next_(kClosed) {
    for (int thread = 1; thread < threads; ++thread) workers_.emplace_back([this, thread] { serve(thread); });
}

Pool::~Pool() {
    ending_ = true;
    ++round_;
    round_.notify_all();
    for (auto& worker : workers_) worker.join();
}

void Pool::share(const Job& job) {
    job_ = job;
    next_ = 0;
    ++round_;
    round_.notify_all();
    take_pieces(0);
    next_ = kClosed;
    for (int turn = 0; active_ != 0; ++turn) spin(turn);
}

void Pool::take_pieces(int thread) {
    const Job job = job_;
    for (int begin; (begin = next_.fetch_add(job.grain)) < job.count;)
        job.call(job.context, begin, std::min(begin + job.grain, job.count), thread);
}

void Pool::serve(int thread) {
    uint32_t seen = 0;
    while (true) {
        for (int turn = 0; round_ == seen && turn < kSpins; ++turn) spin(turn);
        round_.wait(seen);
        seen = round_;
        if (ending_) return;
        ++active_;
        if (next_ < kClosed) take_pieces(thread);
        --active_;
    }
}

}  // namespace completer
