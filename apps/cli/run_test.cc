// `qkv run` from files to files: ranks, layouts, options, errors, and that an interrupted run leaves nothing behind.
#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/cli/cli.h"
#include "apps/cli/interrupt.h"
#include "qkv/reference.h"
#include "src/io/tensor_file.h"
#include "tests/command_outcome.h"

namespace qkv::cli {
namespace {

Outcome qkv_run(const std::vector<std::string>& arguments) { return outcome_of("run", arguments); }

const std::string kMiniLM = QKV_SOURCE_DIR "/examples/minilm.safetensors";

// A file of the test's own; the name has the test's, since tests run side by side.
std::string path_of(const std::string& name) {
  return ::testing::TempDir() + ::testing::UnitTest::GetInstance()->current_test_info()->name() + "_" + name;
}

// Values that differ everywhere, in about [-1, 1].
Tensor filled(DType dtype, Dims shape, double seed) {
  Tensor f64 = Tensor::zeros(DType::kF64, shape).value();
  for (std::int64_t i = 0; i < f64.size(); ++i) f64.data<double>()[i] = std::sin(seed + 1.7 * static_cast<double>(i));
  return std::move(converted(f64.view(), dtype)).value();
}

struct Inputs {
  Tensor q, k, v, d_o;
};

std::string write_inputs(const Inputs& inputs, const std::string& name) {
  const std::string path = path_of(name);
  FileContents contents;
  contents.tensors = {
      {"q", inputs.q.view()}, {"k", inputs.k.view()}, {"v", inputs.v.view()}, {"do", inputs.d_o.view()}};
  EXPECT_TRUE(write_tensor_file(path, contents).is_ok());
  return path;
}

Inputs small_inputs(DType dtype = DType::kF64) {
  return {filled(dtype, {2, 4, 3, 5}, 1), filled(dtype, {2, 2, 6, 5}, 2), filled(dtype, {2, 2, 6, 7}, 3),
          filled(dtype, {2, 4, 3, 7}, 4)};
}

// Element by element, so that a view with other strides compares by its indices.
double largest_difference(View<const void> a, View<const void> b) {
  EXPECT_EQ(to_string(a.shape), to_string(b.shape));
  double largest = 0;
  for (std::int64_t i = 0; i < element_count(a.shape); ++i) {
    std::int64_t rest = i, at_a = 0, at_b = 0;
    for (int axis = a.shape.rank() - 1; axis >= 0; --axis) {
      at_a += rest % a.shape[axis] * a.strides[axis];
      at_b += rest % a.shape[axis] * b.strides[axis];
      rest /= a.shape[axis];
    }
    largest = std::max(largest, std::fabs(element_as_double(a, at_a) - element_as_double(b, at_b)));
  }
  return largest;
}

TEST(Run, a_real_model_s_output_is_the_one_in_its_file) {
  const Outcome outcome = qkv_run({kMiniLM, "--compare", "o"});
  EXPECT_EQ(outcome.code, kDone) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("attention B6 H12 T15 D32: target "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("GF/s"), std::string::npos);
}

TEST(Run, a_difference_is_exit_code_1_and_names_the_worst_element) {
  const Outcome outcome = qkv_run({kMiniLM, "--compare", "o", "--scale", "0.2"});
  EXPECT_EQ(outcome.code, kWrong);
  EXPECT_NE(outcome.out.find("wrong; worst ["), std::string::npos) << outcome.out;
}

TEST(Run, options_reach_the_computation) {
  const Inputs in = small_inputs();
  const std::string input = write_inputs(in, "in.npz"), output = path_of("out.npz");
  const Outcome outcome =
      qkv_run({input, "-o", output, "--lse", "--causal=bottom_right", "--window", "2,-1", "--scale", "-0.5",
               "--softcap", "3", "--slopes", "alibi", "--sinks", "0,1,2,-1", "--lengths", "6,4"});
  ASSERT_EQ(outcome.code, kDone) << outcome.err;
  AttentionOptions options;
  const std::vector<std::int64_t> lengths{6, 4};
  const std::vector<double> slopes{0.25, 0.0625, 0.015625, 0.00390625}, sinks{0, 1, 2, -1};
  options.causality = Causality::kCausal;
  options.corner = Corner::kBottomRight;
  options.window = {2, -1};
  options.scale = -0.5;
  options.softcap = 3;
  options.slopes = slopes;
  options.sinks = sinks;
  options.key_lengths = lengths;
  const auto want = reference::attention_forward({in.q.view(), in.k.view(), in.v.view()}, options);
  ASSERT_TRUE(want.is_ok()) << want.status().message();
  Result<TensorFile> file = TensorFile::open(output);
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  EXPECT_LT(largest_difference(*file->view("o"), want->o.view()), 1e-13);
  EXPECT_LT(largest_difference(*file->view("lse"), want->lse.view()), 1e-13);
  EXPECT_NE(outcome.out.find("B2 H4/2 T3x6 D5/7 causal=bottom_right"), std::string::npos) << outcome.out;
}

TEST(Run, backward_writes_the_reference_s_gradients_and_says_so) {
  const Inputs in = small_inputs();
  const std::string output = path_of("out.safetensors");
  const Outcome outcome = qkv_run({write_inputs(in, "in.npz"), "-o", output, "--backward"});
  ASSERT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_NE(outcome.out.find("backward by the float64 reference"), std::string::npos) << outcome.out;
  const auto want = reference::attention_backward({in.q.view(), in.k.view(), in.v.view()}, in.d_o.view());
  Result<TensorFile> file = TensorFile::open(output);
  ASSERT_TRUE(file.is_ok());
  EXPECT_EQ(largest_difference(*file->view("dq"), want->dq.view()), 0);
  EXPECT_EQ(largest_difference(*file->view("dk"), want->dk.view()), 0);
  EXPECT_EQ(largest_difference(*file->view("dv"), want->dv.view()), 0);
}

TEST(Run, tokens_first_gives_the_same_numbers_in_that_order) {
  const Inputs in = small_inputs();
  Inputs swapped;
  const std::string heads_first = path_of("heads.npz"), tokens_first = path_of("tokens.npz");
  const std::string input = path_of("swapped.npz");
  FileContents contents;
  contents.tensors = {
      {"q", swap_axes(in.q.view(), 1, 2)}, {"k", swap_axes(in.k.view(), 1, 2)}, {"v", swap_axes(in.v.view(), 1, 2)}};
  ASSERT_TRUE(write_tensor_file(input, contents).is_ok());
  ASSERT_EQ(qkv_run({write_inputs(in, "in.npz"), "-o", heads_first}).code, kDone);
  ASSERT_EQ(qkv_run({input, "-o", tokens_first, "--layout", "bthd"}).code, kDone);
  Result<TensorFile> a = TensorFile::open(heads_first), b = TensorFile::open(tokens_first);
  EXPECT_EQ(largest_difference(swap_axes(*a->view("o"), 1, 2), *b->view("o")), 0);
}

TEST(Run, lower_ranks_come_back_as_they_came) {
  for (const Dims& shape : {Dims{3, 5}, Dims{2, 3, 5}}) {
    const Inputs in{filled(DType::kF32, shape, 1), filled(DType::kF32, shape, 2), filled(DType::kF32, shape, 3),
                    filled(DType::kF32, shape, 4)};
    for (const char* layout : {"bhtd", "bthd"}) {
      const std::string output = path_of("out.npz");
      const Outcome outcome =
          qkv_run({write_inputs(in, "in.npz"), "-o", output, "--lse", "--backward", "--layout", layout});
      ASSERT_EQ(outcome.code, kDone) << outcome.err;
      Result<TensorFile> file = TensorFile::open(output);
      EXPECT_EQ(to_string((*file->view("o")).shape), to_string(shape));
      EXPECT_EQ(to_string((*file->view("dk")).shape), to_string(shape));
      EXPECT_EQ((*file->view("lse")).shape.rank(), shape.rank() - 1);
    }
  }
}

TEST(Run, three_npy_files_are_read_as_one_case) {
  const Inputs in = small_inputs(DType::kF32);
  const std::string folder = path_of("folder");
  std::filesystem::create_directories(folder);
  const std::vector<NamedTensor> tensors = {{"q", in.q.view()}, {"k", in.k.view()}, {"v", in.v.view()}};
  for (const NamedTensor& tensor : tensors) {
    FileContents contents;
    contents.tensors = {tensor};
    ASSERT_TRUE(
        write_tensor_file(folder + "/" + tensor.name + (tensor.name == "k" ? ".NPY" : ".npy"), contents).is_ok());
  }
  const Outcome outcome = qkv_run({folder + "/q.npy", folder + "/k.NPY", folder + "/v.npy", "-o", folder + "/O.NPY"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(folder + "/O.NPY"));
}

TEST(Run, a_wrong_shape_gets_the_line_of_the_shape_table_that_broke) {
  Inputs in = small_inputs();
  in.k = filled(DType::kF64, {2, 2, 6, 4}, 2);
  const Outcome outcome = qkv_run({write_inputs(in, "in.npz"), "-o", path_of("out.npz")});
  EXPECT_EQ(outcome.code, kBadInput);
  EXPECT_NE(outcome.err.find("k [B,Hkv,Tk,D] is [2,2,6,4], but D is 5 by q [2,4,3,5]"), std::string::npos)
      << outcome.err;
}

TEST(Run, the_forced_target_is_the_one_in_the_summary) {
  for (Target target : available_targets()) {
    const std::string name(to_string(target));
    EXPECT_NE(qkv_run({kMiniLM, "--compare", "o", "--target", name}).out.find("target " + name), std::string::npos);
  }
}

TEST(Run, an_input_is_never_overwritten) {
  const std::string input = write_inputs(small_inputs(), "in.npz");
  const std::string link = path_of("link.npz");
  std::filesystem::remove(link);
  std::filesystem::create_symlink(input, link);
  for (const std::string& output : {input, link}) {
    const Outcome outcome = qkv_run({input, "-o", output});
    EXPECT_EQ(outcome.code, kBadInput);
    EXPECT_NE(outcome.err.find("is an input and would be overwritten"), std::string::npos) << outcome.err;
  }
}

struct Mistake {
  std::vector<std::string> arguments;
  const char* message;
};

TEST(Run, every_mistake_is_named_with_what_to_do) {
  const std::string input = write_inputs(small_inputs(), "in.npz"), output = path_of("out.npz");
  const Mistake mistakes[] = {
      {{input}, "give a file to write (-o out.npz) or --compare NAME"},
      {{input, "-o", "o.txt"}, ".safetensors"},
      {{input, "-o", "o.npy", "--lse"}, "an .npy holds one tensor only"},
      {{input, "-o", output, "--q", "nope"}, "no tensor 'nope'; the files hold: "},
      {{input, input, "-o", output}, "hold 'q'; give one of them only"},
      {{input, "-o", output, "--window", "3"}, "--window '3' is not LEFT,RIGHT"},
      {{input, "-o", output, "--causal=middle"}, "expected top_left, bottom_right or a whole number"},
      {{input, "-o", output, "--causal=top_left", "--corner", "3"}, "both name a corner"},
      {{input, "-o", output, "--causal"}, "top_left"},
      {{input, "-o", output, "--layout", "hbtd"}, "expected bhtd or bthd"},
      {{input, "-o", output, "--lengths", "1.5,2"}, "is no whole number"},
      {{input, "-o", output, "--sinks", "1,2"}, "sinks has 2 values; expected [Hq] = 4"},
      {{input, "-o", output, "--target", "mmx"}, "unknown target 'mmx'"},
      {{input, "-o", output, "--out-dtype", "f32"}, "o is f32; expected f64"},
      {{"/no/such/file.npz"}, "cannot read /no/such/file.npz"},
      {{"", "-o", output}, "cannot read ''"},
      {{input, "-o", "/no/such/folder/o.npz"}, "cannot write /no/such/folder/o.npz: No such file"},
      {{input, "--compare", "zz"}, "--compare: no tensor 'zz'; the files hold: "},
      {{input, "--compare", "k"}, "--compare: k is f64 [2,2,6,5], but o is [2,4,3,7]"},
      {{input, "-o", output, "--backward", "--do", "k"}, "[2,2,6,5]"},
      {{input, "--compare", "do", "--tolerance", "-1"}, "expected a number ≥ 0, found -1"},
      {{input, "-o", output, "--tolerance", "1"}, "--tolerance has no effect without --compare"},
      {{input, "-o", output, "--do", "do"}, "--do has no effect without --backward"},
      {{input, "-o", output, "--corner", "3"}, "--corner has no effect without --causal, --window or --slopes"},
      {{input, "-o", output, "--causal", "offset:3"}, "write --causal=offset:3"},
      {{input, "-o", output, "--out-dtype", "zz"}, "--out-dtype 'zz' is unknown; expected f32, bf16 or f16"},
      {{input, "-o", output, "--slopes", "alibii"}, "--slopes takes alibi, numbers (0.5,0.25) or the name of a tensor"},
      {{input, "-o", output, "--causal="}, "--causal is empty; give a value after the ="},
  };
  for (const Mistake& mistake : mistakes) {
    const Outcome outcome = qkv_run(mistake.arguments);
    EXPECT_EQ(outcome.code, kBadInput) << mistake.message;
    EXPECT_NE(outcome.err.find(mistake.message), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "") << mistake.message;
  }
  EXPECT_FALSE(std::filesystem::exists(output));
}

// The small case with a tensor of every name that means something.
std::string write_named() {
  const Inputs in = small_inputs();
  const bool sees[] = {true, true, false, true, true, true};
  const bool keys[] = {true, true, true, true, true, false, true, false, true, true, true, true};
  const double slopes[] = {0.5, 0.25, 0.125, 1}, sinks[] = {0, 1, 2, -1};
  const Tensor bias = filled(DType::kF64, {1, 4, 3, 6}, 5);
  FileContents contents;
  contents.tensors = {{"q", in.q.view()},
                      {"k", in.k.view()},
                      {"v", in.v.view()},
                      {"keep", View<const bool>(sees, {1, 1, 1, 6})},
                      {"key_mask", View<const bool>(keys, {2, 6})},
                      {"bias", bias.view()},
                      {"slopes", View<const double>(slopes, {4})},
                      {"sinks", View<const double>(sinks, {4})}};
  const std::string path = path_of("named.npz");
  EXPECT_TRUE(write_tensor_file(path, contents).is_ok());
  return path;
}

TEST(Run, tensors_of_a_known_name_are_used_and_a_note_says_so) {
  const std::string input = write_named(), by_name = path_of("by_name.npz"), by_flag = path_of("by_flag.npz");
  const Outcome noted = qkv_run({input, "-o", by_name, "--corner", "top_left"});
  ASSERT_EQ(noted.code, kDone) << noted.err;
  EXPECT_EQ(noted.err,
            "qkv run: uses keep, bias, key_mask, slopes, sinks of the files, as they are named; without them: "
            "--keep none --bias none --key-mask none --slopes none --sinks none\n");
  const Outcome silent = qkv_run({input, "-o", by_flag, "--corner", "top_left", "--keep", "keep", "--bias", "bias",
                                  "--key-mask", "key_mask", "--slopes", "slopes", "--sinks", "sinks"});
  ASSERT_EQ(silent.code, kDone) << silent.err;
  EXPECT_EQ(silent.err, "");
  Result<TensorFile> a = TensorFile::open(by_name), b = TensorFile::open(by_flag);
  EXPECT_EQ(largest_difference(*a->view("o"), *b->view("o")), 0);
}

TEST(Run, key_lengths_of_the_file_are_used_and_explained_alike) {
  const Inputs in = small_inputs();
  const std::int64_t lengths[] = {6, 4};
  FileContents contents;
  contents.tensors = {{"q", in.q.view()},
                      {"k", in.k.view()},
                      {"v", in.v.view()},
                      {"key_lengths", View<const std::int64_t>(lengths, {2})}};
  const std::string input = path_of("in.npz"), by_name = path_of("by_name.npz"), typed = path_of("typed.npz");
  ASSERT_TRUE(write_tensor_file(input, contents).is_ok());
  const Outcome noted = qkv_run({input, "-o", by_name});
  EXPECT_EQ(noted.err, "qkv run: uses key_lengths of the files, as they are named; without them: --lengths none\n");
  ASSERT_EQ(qkv_run({input, "-o", typed, "--lengths", "6,4"}).code, kDone);
  Result<TensorFile> a = TensorFile::open(by_name), b = TensorFile::open(typed);
  EXPECT_EQ(largest_difference(*a->view("o"), *b->view("o")), 0);
  std::ostringstream out, err;
  Console console{out, err};
  EXPECT_EQ(run({"explain", input, "--batch", "1", "--json"}, console), kDone) << err.str();
  EXPECT_NE(out.str().find("key_lengths"), std::string::npos);
}

TEST(Run, a_key_mask_of_one_axis_serves_run_and_explain_and_one_that_does_not_fit_says_how_to_go_on) {
  const Tensor q = filled(DType::kF64, {3, 4}, 1), k = filled(DType::kF64, {5, 4}, 2),
               v = filled(DType::kF64, {5, 2}, 3);
  const bool keys[] = {true, true, false, true, true};
  for (const std::int64_t length : {5, 4}) {
    FileContents contents;
    contents.tensors = {
        {"q", q.view()}, {"k", k.view()}, {"v", v.view()}, {"key_mask", View<const bool>(keys, {length})}};
    const std::string input = path_of("in.npz");
    ASSERT_TRUE(write_tensor_file(input, contents).is_ok());
    const Outcome outcome = qkv_run({input, "-o", path_of("out.npz")});
    std::ostringstream out, err;
    Console console{out, err};
    EXPECT_EQ(outcome.code, length == 5 ? kDone : kBadInput) << outcome.err;
    EXPECT_EQ(run({"explain", input, "--json"}, console), length == 5 ? kDone : kBadInput) << err.str();
    EXPECT_NE(outcome.err.find("without them: --key-mask none\n"), std::string::npos) << outcome.err;
  }
}

TEST(Run, none_leaves_a_named_tensor_out) {
  const std::string input = write_named(), left_out = path_of("left_out.npz"), plain = path_of("plain.npz");
  const Outcome outcome = qkv_run({input, "-o", left_out, "--keep", "none", "--bias", "none", "--key-mask", "none",
                                   "--slopes", "none", "--sinks", "none"});
  ASSERT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  ASSERT_EQ(qkv_run({write_inputs(small_inputs(), "in.npz"), "-o", plain}).code, kDone);
  Result<TensorFile> a = TensorFile::open(left_out), b = TensorFile::open(plain);
  EXPECT_EQ(largest_difference(*a->view("o"), *b->view("o")), 0);
}

TEST(Run, explain_computes_the_same_from_the_same_file) {
  const std::string input = write_named(), output = path_of("out.npz");
  ASSERT_EQ(qkv_run({input, "-o", output, "--corner", "top_left"}).code, kDone);
  Result<TensorFile> file = TensorFile::open(output);
  const View<const void> o = *file->view("o");
  for (std::int64_t batch = 0; batch < 2; ++batch) {
    std::ostringstream out, err;
    Console console{out, err};
    ASSERT_EQ(run({"explain", input, "--corner", "top_left", "--batch", std::to_string(batch), "--json"}, console),
              kDone)
        << err.str();
    const auto document = nlohmann::json::parse(out.str());
    for (const auto& stage : document["stages"]) {
      if (stage["name"] != "o") continue;
      std::int64_t at = batch * 4 * 3 * 7;
      for (const auto& head : stage["values"][0])
        for (const auto& row : head)
          for (const auto& value : row) EXPECT_NEAR(value.get<double>(), element_as_double(o, at++), 1e-12);
      EXPECT_EQ(at, (batch + 1) * 4 * 3 * 7);
    }
  }
}

TEST(Run, no_option_takes_an_empty_text) {
  for (const char* flag : {"--lengths", "--keep", "--bias", "--window", "--slopes", "--sinks", "--scale", "--softcap",
                           "--compare", "--tolerance", "--threads", "--q", "--output"}) {
    const Outcome outcome = qkv_run({kMiniLM, flag, ""});
    EXPECT_TRUE(outcome.code == kBadInput && outcome.err.find(std::string(flag) + " is empty; ") < 10) << outcome.err;
  }
}

TEST(Run, an_interrupted_run_exits_130_and_leaves_nothing_behind) {
  // Long enough to be caught at work on any machine: 2^36 multiplications on the portable floor.
  const Dims shape{1, 8, 8192, 64};
  const Inputs in{filled(DType::kF32, shape, 1), filled(DType::kF32, shape, 2), filled(DType::kF32, shape, 3), {}};
  const std::string folder = path_of("folder");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string input = folder + "/in.safetensors", output = folder + "/out.safetensors";
  FileContents contents;
  contents.tensors = {{"q", in.q.view()}, {"k", in.k.view()}, {"v", in.v.view()}};
  ASSERT_TRUE(write_tensor_file(input, contents).is_ok());
  const pid_t child = fork();
  if (child == 0) {
    execl(QKV_BINARY_DIR "/qkv", "qkv", "run", input.c_str(), "-o", output.c_str(), "--target", "portable", "--threads",
          "1", nullptr);
    _exit(99);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kInterrupted);
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++files;
  EXPECT_EQ(files, 1) << "only the input should be there";
}

}  // namespace
}  // namespace qkv::cli
