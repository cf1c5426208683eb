// What must hold for the gradients of attention, for random problems on random targets.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/attention_backward_testing.h"
#include "tests/random_problems.h"

namespace qkv {
namespace {

struct DrawnGradient {
  check::Case c;
  Target target;
};

// A random problem with a gradient, its tensors, and a target to run on.
DrawnGradient draw(const std::function<void(Problem&)>& shape) {
  const Problem problem = draw_problem([&](Problem& p) {
    p.backward = true;
    p.dlse = *rc::gen::element(false, true);
    shape(p);
  });
  return {must(check::generate(problem), format(problem)), *rc::gen::elementOf(available_targets())};
}

std::string name_of(const DrawnGradient& d) { return format(d.c.problem) + " on " + std::string(to_string(d.target)); }

void scale_elements(const View<void>& view, double factor) {
  for_each_element(view.shape, view.strides,
                   [&](std::int64_t at) { set_element(view, at, element_as_double(view, at) * factor); });
}

TEST(GradientProperties, every_target_is_within_the_bound_of_float64) {
  hold("gradient = float64", [] {
    const DrawnGradient d = draw([](Problem&) {});
    const check::BackwardExpectation expectation =
        must(check::expect_backward(d.c.inputs(), d.c.d_o.view, d.c.d_lse.view, d.c.options(),
                                    check::output_type(d.c.problem)),
             name_of(d));
    const RanBackward ran = run_backward(d.c, on(d.target));
    const check::BackwardVerdict verdict = must(check::judge(expectation, ran.gradients.views()));
    if (!verdict.passed()) RC_FAIL(name_of(d) + "\n" + to_string(verdict));
  });
}

TEST(GradientProperties, twice_the_gradient_from_above_is_twice_the_gradient) {
  hold("linearity", [] {
    const DrawnGradient d = draw([](Problem& p) {
      if (p.dtype == DType::kF16) p.dtype = DType::kF32;  // whose smallest numbers are too near
      if (p.dtype != DType::kBF16) p.out_dtype.reset();
    });
    const RanBackward once = run_backward(d.c, on(d.target));
    scale_elements(d.c.d_o.view, 2);
    if (d.c.d_lse.view.is_present()) scale_elements(d.c.d_lse.view, 2);
    const RanBackward twice = run_backward(d.c, on(d.target));
    for (const check::Placed* one :
         {&once.gradients.dq, &once.gradients.dk, &once.gradients.dv, &once.gradients.dbias, &once.gradients.dsinks})
      if (one->view.is_present()) scale_elements(one->view, 2);
    RC_ASSERT(twice.bits() == once.bits());
  });
}

TEST(GradientProperties, masks_that_hide_nothing_change_no_bit) {
  hold("open masks", [] {
    const DrawnGradient d = draw([](Problem& p) {
      p.keep.reset();
      p.key_mask = false;
    });
    Problem masked = d.c.problem;
    masked.keep = Dims{masked.query_length, masked.key_length};
    masked.key_mask = true;
    const check::Case c = must(check::generate(masked));
    for (const View<void>& view : {c.keep.view, c.key_mask.view})
      for_each_element(view.shape, view.strides, [&](std::int64_t at) { set_element(view, at, 1); });
    if (run_backward(c, on(d.target)).bits() != run_backward(d.c, on(d.target)).bits()) RC_FAIL(name_of(d));
  });
}

TEST(GradientProperties, any_number_of_threads_gives_the_same_bits) {
  hold("threads", [] {
    const DrawnGradient d = draw([](Problem&) {});
    const RanBackward one = run_backward(d.c, on(d.target, 1));
    RC_ASSERT(run_backward(d.c, on(d.target, *rc::gen::inRange(2, 9))).bits() == one.bits());
  });
}

TEST(GradientProperties, an_empty_row_has_the_gradient_0) {
  hold("empty rows", [] {
    const DrawnGradient d = draw([](Problem& p) { p.sinks = false; });
    const RanBackward ran = run_backward(d.c, on(d.target));
    const View<void> lse = ran.forward.outputs.lse.view, dq = ran.gradients.dq.view;
    for (std::int64_t b = 0; b < lse.shape[0]; ++b)
      for (std::int64_t h = 0; h < lse.shape[1]; ++h)
        for (std::int64_t i = 0; i < lse.shape[2]; ++i) {
          const std::int64_t at = b * lse.strides[0] + h * lse.strides[1] + i * lse.strides[2];
          if (element_as_double(lse, at) != -std::numeric_limits<double>::infinity()) continue;
          for (std::int64_t c = 0; c < dq.shape[3]; ++c)
            RC_ASSERT(element_as_double(
                          dq, b * dq.strides[0] + h * dq.strides[1] + i * dq.strides[2] + c * dq.strides[3]) == 0);
        }
  });
}

}  // namespace
}  // namespace qkv
