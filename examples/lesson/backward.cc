// The backward pass with qkv, beside central differences.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "qkv/qkv.h"

namespace {

constexpr int kCount = 12;  // three tokens, four numbers each
const qkv::Dims kShape = {1, 1, 3, 4};

double q[] = {0.1257302210933933,  -0.1321048632913019, 0.6404226504432821,  0.10490011715303971,
              -0.535669373161111,  0.36159505490948474, 1.3040000451301372,  0.9470809631292422,
              -0.7037352358069926, -1.2654214710460525, -0.6232744625373522, 0.0413259793472436};
double k[] = {-2.3250307746388343,  -0.21879166393254573, -1.2459109472530652, -0.7322673547034516,
              -0.5442589828573099,  -0.31630015636915454, 0.4116305363741328,  1.0425133694426776,
              -0.12853466294403426, 1.3664634705496859,   -0.6651946734866135, 0.3515100700930197};
double v[] = {0.9034701816518086,   0.09401229776087457, -0.7434992493538084, -0.9217253762584194,
              -0.45772582566733916, 0.2201951234700494,  -1.009618183538736,  -0.20917557487171307,
              -0.15922500991447772, 0.5408455846858077,  0.2146591225063409,  0.3553727090399214};
const double d_o[] = {-0.6538286094183394, -0.12961363369276946, 0.7839754700613295, 1.4934311452207607,
                      -1.2590655321041202, 1.5139237747390626,   1.3458754237823045, 0.7813114007004275,
                      0.2644556303293035,  -0.3139228145364278,  1.4580206835369587, 1.9602583164499647};

double o[kCount], lse[3], dq[kCount], dk[kCount], dv[kCount];

const qkv::View<double> kO(o, kShape), kLse(lse, {1, 1, 3});

qkv::View<const double> read(const double* numbers) { return {numbers, kShape}; }

// L = Σ dO ⊙ O: how much of what was asked for the output gives.
double loss() {
  const auto report = qkv::attention_forward({read(q), read(k), read(v)}, {kO, kLse});
  double sum = report.is_ok() ? 0 : NAN;
  for (int i = 0; i < kCount; ++i) sum += d_o[i] * o[i];
  return sum;
}

// Moves one number at a time up and down, and asks what the loss did.
double largest_difference(double* input, const double* gradient, double step = 1e-6) {
  double largest = 0;
  for (int i = 0; i < kCount; ++i) {
    const double kept = input[i];
    input[i] = kept + step;
    const double above = loss();
    input[i] = kept - step;
    const double below = loss();
    input[i] = kept;
    largest = std::max(largest, std::abs(gradient[i] - (above - below) / (2 * step)));
  }
  return largest;
}

void show(const char* name, double* input, const double* gradient) {
  std::printf("%s =\n", name);
  for (int i = 0; i < kCount; ++i) std::printf("%6.3f%c", gradient[i], i % 4 == 3 ? '\n' : ' ');
  std::printf("largest difference %.1e\n\n", largest_difference(input, gradient));
}

}  // namespace

int main() {
  loss();  // writes o and lse, which the way back reads
  const auto report = qkv::attention_backward(
      {read(q), read(k), read(v), read(o), kLse, read(d_o), {}},
      {qkv::View<double>(dq, kShape), qkv::View<double>(dk, kShape), qkv::View<double>(dv, kShape), {}, {}});
  show("dQ", q, dq);
  show("dK", k, dk);
  show("dV", v, dv);
  return report.is_ok() ? 0 : 1;
}
