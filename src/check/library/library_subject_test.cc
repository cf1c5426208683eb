// Libraries that are right, wrong and hostile (tests/check_library, examples/check): what is found is said in a
// sentence.
#include "src/check/library/library_subject.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "src/check/check.h"
#include "src/check/library/time_limit.h"
#include "tests/temporary_file.h"

namespace qkv::check {
namespace {

const std::string kHostile = QKV_BINARY_DIR "/tests/check_hostile.so";
const std::string kItself = QKV_BINARY_DIR "/tests/check_qkv_itself.so";
const std::string kExample = QKV_BINARY_DIR "/examples/my_attention.so";

std::unique_ptr<Subject> opened(const std::string& path, const std::string& symbol,
                                const LibraryOptions& options = {}) {
  Result<std::unique_ptr<Subject>> subject = open_library(path, symbol, options);
  EXPECT_TRUE(subject.is_ok()) << subject.status().message();
  return subject.is_ok() ? std::move(subject).value() : nullptr;
}

SubjectAnswer answer_of(Subject& subject, const std::string& problem) {
  const Result<Problem> parsed = parse_problem(problem);
  EXPECT_TRUE(parsed.is_ok()) << parsed.status().message();
  const Result<Case> asked = generate(*parsed);
  Result<SubjectAnswer> answer = subject.run(*asked);
  EXPECT_TRUE(answer.is_ok()) << answer.status().message();
  return std::move(answer).value();
}

constexpr const char* kProblem = "attention B2 H6/2 T3x5 D7/11 lse";

struct Behaviour {
  const char* function;
  SubjectEnd end;
  const char* message;  // begins so
};

void PrintTo(const Behaviour& behaviour, std::ostream* out) { *out << behaviour.function; }

class Misbehaviour : public testing::TestWithParam<Behaviour> {};

TEST_P(Misbehaviour, is_a_finding_and_the_next_problem_is_asked) {
  const Behaviour& expected = GetParam();
  const std::unique_ptr<Subject> subject = opened(kHostile, expected.function);
  for (int time = 0; time < 2; ++time) {
    const SubjectAnswer answer = answer_of(*subject, kProblem);
    EXPECT_EQ(answer.end, expected.end) << answer.message;
    EXPECT_TRUE(answer.message.starts_with(expected.message)) << answer.message;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Library, Misbehaviour,
    testing::Values(
        Behaviour{"plain_attention", SubjectEnd::kAnswered, ""}, Behaviour{"prints", SubjectEnd::kAnswered, ""},
        Behaviour{"leaves_a_process", SubjectEnd::kAnswered, ""},
        Behaviour{"refuses_everything", SubjectEnd::kRefused, "refuses_everything does not support this problem"},
        Behaviour{"crashes", SubjectEnd::kCrashed,
                  "crashes was stopped by SIGSEGV: it read through a null pointer (a tensor that is absent has one); "
                  "it printed \"about to fall\""},
        Behaviour{"runs_out_of_stack", SubjectEnd::kCrashed,
                  "runs_out_of_stack was stopped by SIGSEGV: its stack ran over"},
        Behaviour{"calls_q", SubjectEnd::kCrashed,
                  "calls_q was stopped by SIGSEGV: it called q as if it were a function"},
        Behaviour{"aborts", SubjectEnd::kCrashed,
                  "aborts was stopped by SIGABRT; it printed \"assertion failed: n > 0\""},
        Behaviour{"exits", SubjectEnd::kCrashed, "exits ended the process by exit(3)"},
        Behaviour{"sends_itself_a_signal", SubjectEnd::kCrashed,
                  "sends_itself_a_signal was stopped by SIGSEGV: a program sent it that signal"},
        Behaviour{"closes_everything", SubjectEnd::kCrashed, "closes_everything closed files that are not its own"},
        Behaviour{"returns_seven", SubjectEnd::kFailed,
                  "returns_seven returned 7, which is neither 0 (done) nor QKV_CHECK_UNSUPPORTED (501)"},
        Behaviour{"throws", SubjectEnd::kFailed, "throws let an exception out: std::runtime_error: bad shape"},
        Behaviour{"reads_past_k", SubjectEnd::kReadOutside,
                  "reads_past_k was stopped by SIGSEGV: it read past the end of k (element 140, where 0 to 139 are its "
                  "own)"},
        Behaviour{"reads_before_v", SubjectEnd::kReadOutside,
                  "reads_before_v was stopped by SIGSEGV: it read before the start of v (element -1, where"},
        Behaviour{"reads_far_past_q", SubjectEnd::kReadOutside,
                  "reads_far_past_q was stopped by SIGSEGV: it read past the end of q (element 1000000, where"},
        Behaviour{"writes_past_o", SubjectEnd::kWroteOutside,
                  "writes_past_o was stopped by SIGSEGV: it wrote past the end of o (element 396, where"},
        Behaviour{"writes_before_o", SubjectEnd::kWroteOutside, "writes_before_o wrote before the start of o"},
        Behaviour{"writes_into_q", SubjectEnd::kWroteOutside,
                  "writes_into_q was stopped by SIGSEGV: it wrote into q, which is an input"},
        Behaviour{"writes_nothing", SubjectEnd::kFailed, "writes_nothing answered without writing o"},
        Behaviour{"leaves_the_last_query", SubjectEnd::kFailed,
                  "leaves_the_last_query left 132 of the 396 elements of o unwritten, the first o(0,0,2,0)"},
        Behaviour{"adds_to_o", SubjectEnd::kFailed, "adds_to_o added to what o held before, first at o(0,0,0,0)"}),
    [](const auto& tested) { return std::string(tested.param.function); });

TEST(Library, a_function_that_hangs_each_time_has_less_time_from_the_fourth_call_on) {
  const std::unique_ptr<Subject> subject = opened(kHostile, "hangs", {.time_limit = std::chrono::milliseconds(400)});
  for (int time = 0; time < 3; ++time)
    EXPECT_EQ(answer_of(*subject, kProblem).message, "hangs gave no answer in 0.4 s");
  const SubjectAnswer again = answer_of(*subject, kProblem);
  EXPECT_EQ(again.end, SubjectEnd::kHung);
  EXPECT_EQ(again.message, "hangs gave no answer in 0.1 s, the time that is left to it after it has hung before");
}

// 60 ms an answer, and two hangs that would leave 25 ms.
TEST(Library, a_slow_function_that_hangs_keeps_the_time_for_what_it_can_do) {
  const std::string causal = std::string(kProblem) + " causal=top_left";
  const std::unique_ptr<Subject> subject =
      opened(kHostile, "hangs_if_causal", {.time_limit = std::chrono::milliseconds(400)});
  EXPECT_EQ(answer_of(*subject, kProblem).end, SubjectEnd::kAnswered);
  for (int time = 0; time < 2; ++time) EXPECT_EQ(answer_of(*subject, causal).end, SubjectEnd::kHung);
  const SubjectAnswer again = answer_of(*subject, kProblem);
  EXPECT_EQ(again.end, SubjectEnd::kAnswered) << again.message;
}

TEST(TimeLimit, leaves_a_quarter_after_a_hang_but_twenty_answers_and_more_for_larger_problems) {
  using Milliseconds = TimeLimit::Milliseconds;
  TimeLimit limit(Milliseconds(10'000));
  limit.answered(Milliseconds(2), 100);
  EXPECT_EQ(limit.of(100), Milliseconds(10'000));
  limit.hung();
  EXPECT_EQ(limit.of(100), Milliseconds(2'500));
  for (int time = 0; time < 9; ++time) limit.hung();
  EXPECT_EQ(limit.of(100), Milliseconds(200));
  limit.answered(Milliseconds(50), 100);
  EXPECT_EQ(limit.of(10), Milliseconds(1'000));
  EXPECT_EQ(limit.of(300), Milliseconds(3'000));
  EXPECT_EQ(limit.of(1e9), Milliseconds(10'000));
}

TEST(Library, a_function_that_prints_without_end_is_stopped_too) {
  const LibraryOptions short_time{.time_limit = std::chrono::milliseconds(200)};
  const SubjectAnswer answer = answer_of(*opened(kHostile, "prints_without_end", short_time), kProblem);
  EXPECT_EQ(answer.end, SubjectEnd::kHung);
  EXPECT_TRUE(answer.message.starts_with("prints_without_end gave no answer in 0.2 s; it printed \"…"))
      << answer.message;
  EXPECT_LT(answer.message.size(), 300U);
}

TEST(Library, a_call_can_be_given_up) {
  bool goes_on = true;
  const std::unique_ptr<Subject> subject = opened(kHostile, "hangs", {.keep_going = [&] { return goes_on; }});
  goes_on = false;
  const Result<Case> asked = generate(*parse_problem(kProblem));
  EXPECT_EQ(subject->run(*asked).code(), StatusCode::kCancelled);
}

TEST(Library, tensors_lie_in_the_strides_that_the_problem_asks_for) {
  const std::unique_ptr<Subject> subject = opened(kHostile, "plain_attention");
  const SubjectAnswer near = answer_of(*subject, kProblem);
  const SubjectAnswer far = answer_of(*subject, std::string(kProblem) + " bthd");
  ASSERT_EQ(far.end, SubjectEnd::kAnswered) << far.message;
  ASSERT_EQ(near.outputs.o.size(), far.outputs.o.size());
  for (std::int64_t i = 0; i < near.outputs.o.size(); ++i)
    ASSERT_EQ(near.outputs.o.data<float>()[i], far.outputs.o.data<float>()[i]);
}

TEST(Library, an_lse_that_is_left_alone_is_not_judged) {
  const std::unique_ptr<Subject> subject = opened(kHostile, "leaves_lse_alone");
  const SubjectAnswer answer = answer_of(*subject, kProblem);
  EXPECT_EQ(answer.end, SubjectEnd::kAnswered) << answer.message;
  EXPECT_TRUE(answer.outputs.o.is_present());
  EXPECT_FALSE(answer.outputs.lse.is_present());
}

#if defined(__x86_64__)
TEST(Library, an_aligned_load_of_what_is_not_aligned_is_told_of) {
  const SubjectAnswer answer = answer_of(*opened(kHostile, "loads_unaligned"), kProblem);
  EXPECT_EQ(answer.end, SubjectEnd::kCrashed);
  EXPECT_EQ(answer.message,
            "loads_unaligned was stopped by SIGSEGV: the processor gave no address: a vector access that is not "
            "aligned, say (see --alignment)");
}
#endif

TEST(Library, an_alignment_is_kept_and_the_bytes_behind_a_tensor_are_watched) {
  const LibraryOptions aligned{.alignment = 64};
  EXPECT_EQ(answer_of(*opened(kHostile, "needs_lines", aligned), kProblem).end, SubjectEnd::kAnswered);
  EXPECT_EQ(answer_of(*opened(kHostile, "needs_lines"), kProblem).end, SubjectEnd::kRefused);
  const SubjectAnswer answer = answer_of(*opened(kHostile, "writes_past_o", aligned), kProblem);
  EXPECT_EQ(answer.end, SubjectEnd::kWroteOutside);
  EXPECT_EQ(answer.message, "writes_past_o wrote past the end of o");
  EXPECT_FALSE(open_library(kHostile, "needs_lines", {.alignment = 48}).is_ok());
}

TEST(Library, a_right_function_that_refuses_much_is_right) {
  const std::unique_ptr<Subject> subject = opened(kHostile, "plain_attention");
  const Result<CheckReport> report = check(*subject, {});
  ASSERT_TRUE(report.is_ok()) << report.status().message();
  EXPECT_EQ(report->verdict, Verdict::kRight) << report->headline;
  EXPECT_GT(report->answered, 40);
  EXPECT_GT(report->refused, 2);
}

TEST(Library, the_mistake_of_the_example_is_named) {
  const std::unique_ptr<Subject> subject = opened(kExample, "my_attention");
  const Result<CheckReport> report = check(*subject, {});
  ASSERT_TRUE(report.is_ok()) << report.status().message();
  EXPECT_EQ(report->verdict, Verdict::kWrong);
  ASSERT_EQ(report->diagnosis.tied.size(), 1U) << report->headline;
  EXPECT_EQ(report->diagnosis.tied.front().mistakes.front().mistake.id, MistakeId::kCornerTopLeft) << report->headline;
}

// Every option, type and gradient on its way through the interface, in either placement.
TEST(Library, qkv_itself_refuses_nothing_and_is_right) {
  if (!std::filesystem::exists(kItself)) GTEST_SKIP() << "instrumented code cannot be loaded into a plain process";
  const std::unique_ptr<Subject> subject = opened(kItself, "qkv_itself");
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16})
    for (const bool backward : {false, true}) {
      CheckOptions options;
      options.probes.dtype = dtype;
      options.probes.backward = backward;
      const Result<CheckReport> report = check(*subject, options);
      ASSERT_TRUE(report.is_ok()) << report.status().message();
      EXPECT_EQ(report->verdict, Verdict::kRight) << to_string(dtype) << " " << report->headline;
      EXPECT_EQ(report->refused, 0);
    }
}

TEST(Library, one_that_always_crashes_is_wrong_and_nothing_else_is_said_of_it) {
  const std::unique_ptr<Subject> subject = opened(kHostile, "reads_past_k");
  const Result<CheckReport> report = check(*subject, {});
  ASSERT_TRUE(report.is_ok()) << report.status().message();
  EXPECT_EQ(report->verdict, Verdict::kWrong);
  EXPECT_TRUE(report->headline.starts_with("WRONG: reads_past_k was stopped by SIGSEGV: it read past the end of k"))
      << report->headline;
  EXPECT_TRUE(report->powerless.empty());
  EXPECT_TRUE(report->invariants.empty());
  ASSERT_TRUE(report->shrunk.has_value());
  EXPECT_EQ(format(*report->shrunk), "attention B1 H1 T1 D1");
  EXPECT_EQ(report->answered, 0);
  EXPECT_EQ(report->unanswered, report->failed);
}

TEST(Library, a_nan_is_wrong) {
  const std::unique_ptr<Subject> subject = opened(kHostile, "gives_nan");
  CheckOptions options;
  options.probes.quick = true;
  const Result<CheckReport> report = check(*subject, options);
  ASSERT_TRUE(report.is_ok()) << report.status().message();
  EXPECT_EQ(report->verdict, Verdict::kWrong) << report->headline;
}

TEST(Library, gradients_are_asked_for_and_read) {
  const std::unique_ptr<Subject> subject = opened(kHostile, "gives_gradients");
  const SubjectAnswer answer =
      answer_of(*subject, "attention B2 H6/2 T3x5 D7/11 bias=6x1x5 sinks lse backward dlse causal=offset:1 window=2,0");
  ASSERT_EQ(answer.end, SubjectEnd::kAnswered) << answer.message;
  EXPECT_EQ(answer.outputs.dq.shape(), (Dims{2, 6, 3, 7}));
  EXPECT_EQ(answer.outputs.dk.shape(), (Dims{2, 2, 5, 7}));
  EXPECT_EQ(answer.outputs.dv.shape(), (Dims{2, 2, 5, 11}));
  EXPECT_EQ(answer.outputs.dbias.shape(), (Dims{6, 1, 5}));
  EXPECT_EQ(answer.outputs.dsinks.shape(), (Dims{6}));
  EXPECT_EQ(answer.outputs.dbias.data<float>()[29], 29);
  EXPECT_EQ(answer_of(*opened(kHostile, "plain_attention"), "attention T3 D4 backward").end, SubjectEnd::kRefused);
}

// What somebody types, and what is said.
TEST(OpenLibrary, tells_what_is_wrong_with_a_file) {
  const auto message = [](const std::string& path, const std::string& symbol = "f") {
    return open_library(path, symbol).status().message();
  };
  EXPECT_EQ(message("/no/such.so"), "there is no file /no/such.so");
  EXPECT_EQ(message("/"), "/ is no file");
  const TemporaryFile file("library.so");
  file.write("");
  EXPECT_EQ(message(file.path()), file.path() + " is no shared library but an empty file");
  file.write("#!/bin/sh\n");
  EXPECT_EQ(message(file.path()), file.path() + " is no shared library but a script");
  file.write("GIF89a");
  EXPECT_EQ(message(file.path()), file.path() + " is no shared library but another kind of file");
  file.write("!<arch>\n");
  EXPECT_EQ(message(file.path()),
            file.path() + " is no shared library but an archive of object files (link it with -shared)");
  std::string header(
      "\x7F"
      "ELF\x01\x01",
      6);  // 32 bit, little endian
  header.resize(52, '\0');
  header[16] = 3;   // a shared object
  header[18] = 40;  // ARM
  file.write(header);
  const Result<std::unique_ptr<Subject>> foreign = open_library(file.path(), "f");
  EXPECT_EQ(foreign.code(), StatusCode::kUnsupported);
  EXPECT_TRUE(foreign.status().message().starts_with(file.path() + " is for ARM (32 bit), and this program is for "));
}

TEST(OpenLibrary, refuses_a_library_that_is_cut_off) {
  const TemporaryFile file("library.so");
  std::ifstream whole(kHostile, std::ios::binary);
  std::string bytes(1024, '\0');
  whole.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.write(bytes);
  const Result<std::unique_ptr<Subject>> cut = open_library(file.path(), "f");
  EXPECT_EQ(cut.code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(cut.status().message().empty());
}

TEST(OpenLibrary, tells_of_a_library_that_cannot_even_be_loaded) {
  ::setenv("QKV_TEST_FALLS_WHEN_LOADED", "1", 1);
  const Status status = open_library(kHostile, "plain_attention").status();
  ::unsetenv("QKV_TEST_FALLS_WHEN_LOADED");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), kHostile + " was stopped by SIGABRT when it was loaded");
}

TEST(OpenLibrary, names_the_nearest_function) {
  const auto message = [](const std::string& symbol) { return open_library(kHostile, symbol).status().message(); };
  EXPECT_EQ(message("plain_atention"),
            kHostile + " has no function \"plain_atention\"; did you mean \"plain_attention\"?");
  EXPECT_TRUE(message("zzzzzzzz").starts_with(kHostile + " has no function \"zzzzzzzz\"; it exports "));
  EXPECT_TRUE(message("").starts_with("name the function, as " + kHostile + ":")) << message("");
  EXPECT_TRUE(message("without_c_linkage").ends_with(": declare it extern \"C\"")) << message("without_c_linkage");
}

}  // namespace
}  // namespace qkv::check
