// SPDX-License-Identifier: Apache-2.0
// PF-18: in steady state a worker's calls make no system call, no allocation and take no lock.
// While they run, the kernel turns every system call of this thread into SIGSYS
// (PR_SET_SYSCALL_USER_DISPATCH), operator new and malloc count, and pthread_mutex_lock counts. The
// last test case shows that all three counters can see what they look for.
#include <catch2/catch.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "support/core_lab.h"
#include "watch.h"

namespace signalbox::test {

std::atomic<unsigned long> allocations{0};
std::atomic<unsigned long> locks{0};
std::atomic<unsigned long> system_calls{0};

namespace {

std::atomic<bool> watching{false};
volatile char selector = 0;  // 0: the kernel lets system calls pass, 1: it raises SIGSYS

constexpr int kPrSetSyscallUserDispatch = 59;

void on_sigsys(int, siginfo_t*, void*) {
    selector = 0;  // or the return from this handler would raise it again
    ++system_calls;
}

}  // namespace

bool dispatch_available() {
    struct sigaction action {};
    action.sa_sigaction = on_sigsys;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSYS, &action, nullptr);
    return prctl(kPrSetSyscallUserDispatch, 1, 0, 0, &selector) == 0;
}

void watch(bool on) {
    watching = on;
    selector = on ? 1 : 0;
}

}  // namespace signalbox::test

using namespace signalbox;
using namespace signalbox::test;

extern "C" {
void* __libc_malloc(std::size_t);
void* malloc(std::size_t bytes) {  // operator new comes through here too
    if (watching.load(std::memory_order_relaxed)) ++allocations;
    return __libc_malloc(bytes);
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
    using Function = int (*)(pthread_mutex_t*);
    static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    if (watching.load(std::memory_order_relaxed)) ++locks;
    return real(mutex);
}
}

TEST_CASE("PF-18: a worker that forwards makes no system call, no allocation and takes no lock") {
    const bool dispatch = dispatch_available();
    CoreLab lab(one_asp_per_server(8), {.workers = 2});
    std::vector<Asp*> asps;
    for (std::uint32_t i = 0; i < 8; ++i) asps.push_back(&lab.start(PeerIndex{i}));
    for (std::uint32_t i = 0; i < 8; ++i) bring_up(lab, *asps[i], 100 + i);
    const std::vector<std::uint8_t> user(120, 7);
    const auto traffic = [&](std::uint32_t rounds) {
        for (std::uint32_t n = 0; n < rounds; ++n) {
            const std::uint32_t i = n % 8;
            const std::uint32_t to = (i + 1 + n / 8 % 7) % 8;
            lab.send(
                *asps[i], StreamId{1},
                m3ua::data(100 + i, 1000 + i, 1000 + to, static_cast<std::uint8_t>(n % 16), user));
            if (n % 16 == 15) lab.turn();
        }
        lab.run(200ms);
    };
    traffic(2000);  // warm-up
    const std::uint64_t before = lab.count(Count::routed_messages);
    allocations = locks = system_calls = 0;
    lab.around_workers = [](bool entering) { watch(entering); };
    // The double's own vector of packets grows inside the worker's calls: it is not the worker's.
    lab.measure_only_workers = true;
    traffic(4000);
    lab.around_workers = nullptr;
    CHECK(lab.count(Count::routed_messages) - before == 4000);
    CHECK(allocations == 0);
    CHECK(locks == 0);
    if (dispatch)
        CHECK(system_calls == 0);
    else
        WARN(
            "this kernel has no syscall user dispatch: system calls are judged by the end-to-end "
            "test alone");
}

TEST_CASE("negative control: an allocation, a lock and a system call are seen") {
    allocations = locks = system_calls = 0;
    const bool dispatch = dispatch_available();
    std::mutex mutex;
    watch(true);
    void* p = malloc(3);
    mutex.lock();
    mutex.unlock();
    getppid();
    watch(false);
    free(p);
    CHECK(allocations == 1);
    CHECK(locks == 1);
    if (dispatch) CHECK(system_calls == 1);
}
