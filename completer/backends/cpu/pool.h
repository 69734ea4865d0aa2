// Threads that share the pieces of one job after another. Waiting threads spin briefly, then sleep; where the machine has
// other things to do they give way, and a thread that comes late to a job is not waited for.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace completer {

class Pool {
public:
    explicit Pool(int threads);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    int threads() const { return static_cast<int>(workers_.size()) + 1; }

    // Calls work(begin, end, thread) over 0..count in pieces of `grain`, on all threads; returns when all is done.
    template <class Work>
    void run(int count, int grain, const Work& work) {
        if (count <= grain || workers_.empty()) {
            if (count > 0) work(0, count, 0);
            return;
        }
        share({[](const void* context, int begin, int end, int thread) {
                   (*static_cast<const Work*>(context))(begin, end, thread);
               },
               &work, count, grain});
    }

private:
    struct Job {
        void (*call)(const void* context, int begin, int end, int thread);
        const void* context;
        int count, grain;
    };

    void share(const Job& job);
    void take_pieces(int thread);
    void serve(int thread);

    Job job_{};
    // Written by run alone, and only while active_ is zero and next_ closed.
    std::atomic<int> next_;
    std::atomic<int> active_{0};      // workers that may be reading job_
    std::atomic<uint32_t> round_{0};  // counts jobs; what sleeping workers watch
    std::atomic<bool> ending_{false};
    std::vector<std::thread> workers_;
};

}  // namespace completer
