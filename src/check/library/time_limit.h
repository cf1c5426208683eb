// How long a call may take: less and less for a function that hangs, never too little for what it does in time.
#ifndef QKV_SRC_CHECK_LIBRARY_TIME_LIMIT_H_
#define QKV_SRC_CHECK_LIBRARY_TIME_LIMIT_H_

#include <algorithm>
#include <chrono>

namespace qkv::check {

// A function that hangs in every second problem must not take an hour. Once it is known how fast it is, or that it
// hangs three times in a row and has never answered, each hang leaves a quarter of the limit, down to a fiftieth; but
// twenty times what the slowest answer took always remains, and more for problems that are larger than that one.
class TimeLimit {
 public:
  using Milliseconds = std::chrono::duration<double, std::milli>;

  explicit TimeLimit(Milliseconds whole) : whole_(whole), left_(whole) {}

  // `work`: of the problem that is asked next, in any unit.
  Milliseconds of(double work) const {
    const double growth = slowest_work_ > 0 ? std::max(1.0, work / slowest_work_) : 1;
    return std::min(whole_, std::max(left_, kRoom * growth * slowest_));
  }

  void answered(Milliseconds took, double work) {
    if (took <= slowest_) return;
    slowest_ = took;
    slowest_work_ = work;
  }

  void hung() {
    ++hangs_;
    if (slowest_ > Milliseconds::zero() || hangs_ >= kHangsOfUnknown)
      left_ = std::max(left_ / kShare, whole_ / kLeastShare);
  }

 private:
  static constexpr double kRoom = 20;
  static constexpr int kHangsOfUnknown = 3, kShare = 4, kLeastShare = 50;
  Milliseconds whole_, left_, slowest_{0};
  double slowest_work_ = 0;
  int hangs_ = 0;
};

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_LIBRARY_TIME_LIMIT_H_
