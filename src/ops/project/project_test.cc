// The projection and its gradient on every target, held to float64 plain loops; every type, stride and odd shape.
#include "src/ops/project/project.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "src/check/plain_layer.h"
#include "tests/layer_testing.h"

namespace qkv {
namespace {

using check::Placed;
using check::Placement;

struct Form {
  DType dtype = DType::kF32;
  DType output = DType::kF32;
  Placement placement = {};
  bool transposed = false;  // x and w
};

std::string name_of(const Dims& shape, const Form& form, Target target) {
  return to_string(shape) + " " + std::string(to_string(form.dtype)) + (form.transposed ? " transposed" : "") + " on " +
         std::string(to_string(target));
}

Placed like(const Placed& model, DType dtype) { return empty_tensor(dtype, model.view.shape); }

// shape: M, C, E
void expect_right(const Dims& shape, const Form& form) {
  const Placed x = random_tensor(form.dtype, {shape[0], shape[1]}, 1, form.placement, form.transposed);
  const Placed w = random_tensor(form.dtype, {shape[1], shape[2]}, 2, form.placement, form.transposed);
  const Placed b = random_tensor(form.dtype, {shape[2]}, 3);
  const Placed dy = random_tensor(form.dtype, {shape[0], shape[2]}, 4, form.placement);
  const Tensor y = must(reference::project_forward(x.view, w.view, b.view));
  const Tensor plain = must(check::plain_project_forward(x.view, w.view, b.view, form.output));
  const auto gradients = must(reference::project_backward(x.view, w.view, dy.view));
  const auto plains = must(check::plain_project_backward(x.view, w.view, dy.view, form.output));
  for (const Target target : available_targets()) {
    const std::string name = name_of(shape, form, target);
    Placed got = like(dy, form.output);
    const Report report = must(project_forward({x.view, w.view, b.view}, got.view, on(target)), name);
    EXPECT_EQ(report.target, target);
    expect_within(name + " y", got, y, plain, Yardstick::kForward);
    Placed dx = like(x, form.output), dw = like(w, form.output), db = like(b, form.output);
    must(project_backward({x.view, w.view, {}}, dy.view, {dx.view, dw.view, db.view}, on(target)), name);
    expect_within(name + " dx", dx, gradients.dx, plains.dx, Yardstick::kGradient);
    expect_within(name + " dw", dw, gradients.dw, plains.dw, Yardstick::kGradient);
    expect_within(name + " db", db, gradients.db, plains.db, Yardstick::kGradient);
  }
}

TEST(Project, agrees_with_float64_on_every_odd_shape) {
  for (const std::int64_t rows : {1, 2, 5, 8, 9, 25, 67})
    for (const std::int64_t in : {1, 3, 64, 131})
      for (const std::int64_t out : {1, 7, 64, 65, 130}) expect_right({rows, in, out}, {});
}

TEST(Project, agrees_with_float64_where_the_sum_is_cut) {
  expect_right({13, 1601, 70}, {});
  expect_right({3, 1601, 1100}, {});
  expect_right({401, 20, 33}, {});  // more rows than a tile has; dw sums over them
  expect_right({13, 1601, 70}, {DType::kBF16, DType::kBF16});
  expect_right({900, 17, 5}, {DType::kF16, DType::kF16});
}

TEST(Project, agrees_with_float64_in_every_type_and_stride) {
  const Form forms[] = {{DType::kF64, DType::kF64},  {DType::kF32, DType::kF32}, {DType::kBF16, DType::kBF16},
                        {DType::kBF16, DType::kF32}, {DType::kF16, DType::kF16}, {DType::kF16, DType::kF32},
                        {DType::kF32, DType::kBF16}};
  for (Form form : forms)
    for (const Placement& placement :
         {Placement{}, Placement{.row_gap = 5, .shift = 3}, Placement{.last_stride = 3, .row_gap = 1}})
      for (const bool transposed : {false, true}) {
        form.placement = placement;
        form.transposed = transposed;
        expect_right({7, 19, 70}, form);
        expect_right({31, 19, 70}, form);
      }
}

TEST(Project, of_nothing_is_the_bias) {
  const Placed b = random_tensor(DType::kF32, {70}, 3);
  for (const std::int64_t rows : {2, 20})
    for (const Target target : available_targets()) {
      const Placed x = random_tensor(DType::kF32, {rows, 0}, 1), w = random_tensor(DType::kF32, {0, 70}, 2);
      Placed y = must(check::place_empty(DType::kF32, {rows, 70}));
      must(project_forward({x.view, w.view, b.view}, y.view, on(target)));
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t e = 0; e < 70; ++e)
          EXPECT_EQ(y.view.as<float>()(r, e), static_cast<const float*>(b.view.data)[e]);
    }
}

TEST(Project, of_no_rows_writes_nothing_but_zero_gradients) {
  const Placed x = random_tensor(DType::kF32, {0, 5}, 1), w = random_tensor(DType::kF32, {5, 3}, 2);
  const Placed dy = random_tensor(DType::kF32, {0, 3}, 3);
  Placed dw = like(w, DType::kF32), db = random_tensor(DType::kF32, {3}, 4), dx = like(x, DType::kF32);
  must(project_backward({x.view, w.view, {}}, dy.view, {dx.view, dw.view, db.view}));
  for_each_element(dw.view.shape, dw.view.strides,
                   [&](std::int64_t at) { EXPECT_EQ(static_cast<float*>(dw.view.data)[at], 0); });
  for (int e = 0; e < 3; ++e) EXPECT_EQ(static_cast<float*>(db.view.data)[e], 0);
}

TEST(Project, gives_the_same_bits_for_any_number_of_threads) {
  struct Case {
    Dims shape;
    DType dtype;
  };
  for (const Case& c :
       {Case{{500, 800, 300}, DType::kF32}, Case{{3, 900, 2000}, DType::kF32}, Case{{410, 790, 200}, DType::kBF16}}) {
    const Placed x = random_tensor(c.dtype, {c.shape[0], c.shape[1]}, 1);
    const Placed w = random_tensor(c.dtype, {c.shape[1], c.shape[2]}, 2);
    const Placed dy = random_tensor(c.dtype, {c.shape[0], c.shape[2]}, 4);
    for (const Target target : {available_targets().front(), available_targets().back()}) {
      std::vector<std::vector<unsigned char>> first;
      for (const int threads : {1, 2, 3, 5, 8}) {
        Placed y = like(dy, c.dtype), dx = like(x, c.dtype), dw = like(w, c.dtype);
        Placed db = random_tensor(c.dtype, {c.shape[2]}, 5);
        const Report report = must(project_forward({x.view, w.view, {}}, y.view, on(target, threads)));
        EXPECT_GE(report.threads, threads == 1 ? 1 : 2);
        must(project_backward({x.view, w.view, {}}, dy.view, {dx.view, dw.view, db.view}, on(target, threads)));
        std::vector<std::vector<unsigned char>> bits = {bits_of(y.view), bits_of(dx.view), bits_of(dw.view),
                                                        bits_of(db.view)};
        if (first.empty()) first = bits;
        EXPECT_EQ(bits, first) << to_string(c.shape) << " " << threads << " threads on " << to_string(target);
      }
    }
  }
}

TEST(Project, keeps_a_nan_in_its_row) {
  for (const std::int64_t rows : {6, 30}) {
    Placed x = random_tensor(DType::kF32, {rows, 20}, 1);
    const Placed w = random_tensor(DType::kF32, {20, 70}, 2);
    set_element(x.view, 2 * 20 + 7, std::numeric_limits<double>::quiet_NaN());
    for (const Target target : available_targets()) {
      Placed y = must(check::place_empty(DType::kF32, {rows, 70}));
      must(project_forward({x.view, w.view, {}}, y.view, on(target)));
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t e = 0; e < 70; ++e) EXPECT_EQ(std::isnan(y.view.as<float>()(r, e)), r == 2) << r << " " << e;
    }
  }
}

TEST(Project, uses_the_workspace_it_is_given_and_no_more) {
  const Placed x = random_tensor(DType::kF32, {30, 20}, 1), w = random_tensor(DType::kF32, {20, 70}, 2);
  Placed y = must(check::place_empty(DType::kF32, {30, 70}));
  const Report report = must(project_forward({x.view, w.view, {}}, y.view));
  std::vector<char> memory(report.scratch_bytes + 64);
  Workspace enough(memory.data(), memory.size()), little(memory.data(), 100);
  Execution execution;
  execution.workspace = &enough;
  must(project_forward({x.view, w.view, {}}, y.view, execution));
  execution.workspace = &little;
  const Status status = project_forward({x.view, w.view, {}}, y.view, execution).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "project: the workspace holds 100 bytes, and this call needs " + std::to_string(report.scratch_bytes + 64));
}

TEST(Project, of_half_type_is_right_wherever_its_scratch_lies) {
  // Once, addresses of y were counted in f32, and a row of scratch at such an address was taken for y itself.
  const Dims shape{40, 100};
  const Placed x = random_tensor(DType::kF32, {40, 20}, 1), w = random_tensor(DType::kBF16, {20, 100}, 2);
  Placed want = must(check::place_empty(DType::kBF16, shape));
  alignas(64) static unsigned char memory[1 << 18];
  for (const Target target : available_targets()) {
    must(project_forward({x.view, w.view, {}}, want.view, on(target)));
    for (std::size_t gap = 0; gap < 16384; gap += 64) {
      std::memset(memory, 0xFF, 8000);
      const View<void> y(memory, DType::kBF16, shape);
      Workspace behind(memory + 8000 + gap, sizeof(memory) - 8000 - gap);
      Execution execution = on(target);
      execution.workspace = &behind;
      must(project_forward({x.view, w.view, {}}, y, execution));
      ASSERT_EQ(bits_of(y), bits_of(want.view)) << gap << " on " << to_string(target);
    }
  }
}

TEST(Project, refuses_what_does_not_fit) {
  const Placed x = random_tensor(DType::kF32, {4, 5}, 1), w = random_tensor(DType::kF32, {5, 3}, 2);
  const Placed wide = random_tensor(DType::kF64, {5, 3}, 2);
  Placed y = must(check::place_empty(DType::kF32, {4, 3})), half = must(check::place_empty(DType::kF32, {4, 2}));
  const auto message = [](const Result<Report>& result) { return result.status().message(); };
  EXPECT_EQ(message(project_forward({x.view, x.view, {}}, y.view)),
            reference::project_forward(x.view, x.view, {}).status().message());
  EXPECT_EQ(message(project_forward({x.view, w.view, {}}, half.view)), "project: y is [4,2]; expected [4,3]");
  EXPECT_EQ(message(project_forward({x.view, wide.view, {}}, y.view)),
            "project: w is f64 but x is f32; f64 goes with f64 only");
  View<void> inside = x.view;
  inside.shape = {4, 3};
  EXPECT_EQ(message(project_forward({x.view, w.view, {}}, inside)),
            "project: y overlaps the memory of x; give it memory of its own");
  View<void> same = y.view;
  same.strides = {0, 1};
  EXPECT_EQ(message(project_forward({x.view, w.view, {}}, same)),
            "project: y has strides [0,1] that put two elements in one place");
  EXPECT_EQ(message(project_forward({x.view, w.view, {}}, y.view, on(Target::kAuto, -2))),
            "project: threads must be 0 (all) or positive, found -2");
  EXPECT_EQ(message(project_backward({x.view, w.view, {}}, half.view, {})),
            reference::project_backward(x.view, w.view, half.view).status().message());
  EXPECT_EQ(message(project_backward({x.view, w.view, {}}, y.view, {x.view, {}, {}})),
            "project: dx overlaps the memory of x; give it memory of its own");
}

}  // namespace
}  // namespace qkv
