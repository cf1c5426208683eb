// A file appears whole or not at all, whatever interrupts it.
#include "src/io/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "src/io/tensor_file.h"
#include "tests/temporary_file.h"

namespace qkv {
namespace {

// Both ways of keeping an unfinished file: without a name, and with a hidden one.
class Atomic : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { set_nameless_files_allowed(GetParam()); }
  void TearDown() override { set_nameless_files_allowed(true); }

  std::vector<std::string> folder() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(target_.folder()))
      names.push_back(entry.path().filename().string());
    return names;
  }

  TemporaryFile target_{"out.bin"};
};

TEST_P(Atomic, the_target_has_its_old_content_until_commit) {
  target_.write("old");
  auto file = AtomicFile::create(target_.path());
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  ASSERT_TRUE(file->write("new content").is_ok());
  EXPECT_EQ(target_.read(), "old");
  ASSERT_TRUE(file->commit().is_ok());
  EXPECT_EQ(target_.read(), "new content");
  EXPECT_EQ(folder(), std::vector<std::string>{"out.bin"});
}

TEST_P(Atomic, a_new_file_does_not_exist_until_commit) {
  auto file = AtomicFile::create(target_.path());
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  ASSERT_TRUE(file->write("content").is_ok());
  EXPECT_FALSE(std::filesystem::exists(target_.path()));
  ASSERT_TRUE(file->commit().is_ok());
  EXPECT_EQ(target_.read(), "content");
}

TEST_P(Atomic, nothing_is_left_of_a_file_that_is_given_up) {
  target_.write("old");
  {
    auto file = AtomicFile::create(target_.path());
    ASSERT_TRUE(file.is_ok());
    const AtomicFile moved = std::move(file).value();
    ASSERT_EQ(folder().size(), moved.has_name() ? 2u : 1u);
  }
  EXPECT_EQ(folder(), std::vector<std::string>{"out.bin"});
  EXPECT_EQ(target_.read(), "old");
}

TEST_P(Atomic, seeking_back_overwrites) {
  auto file = AtomicFile::create(target_.path());
  ASSERT_TRUE(file->write("abcdef").is_ok() && file->seek(2).is_ok() && file->write("XY").is_ok());
  EXPECT_EQ(file->position(), 4u);
  ASSERT_TRUE(file->commit().is_ok());
  EXPECT_EQ(target_.read(), "abXYef");
}

TEST_P(Atomic, the_permissions_of_the_target_are_kept) {
  target_.write("old");
  ASSERT_EQ(::chmod(target_.path().c_str(), 0640), 0);
  auto file = AtomicFile::create(target_.path());
  ASSERT_TRUE(file->commit().is_ok());
  struct stat info{};
  ASSERT_EQ(::stat(target_.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

TEST_P(Atomic, a_link_stays_and_what_it_points_to_is_replaced) {
  target_.write("old");
  const std::string link = target_.folder() + "/link";
  std::filesystem::create_symlink("out.bin", link);
  auto file = AtomicFile::create(link);
  ASSERT_TRUE(file->write("new").is_ok() && file->commit().is_ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(target_.read(), "new");
}

void remove_and_exit(int) {
  remove_unfinished_files();
  ::_exit(1);
}

// In a child: begins a file, says so by a byte in the pipe, and waits for a signal.
pid_t child_that_writes(const std::string& path, int ready) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  std::signal(SIGINT, remove_and_exit);
  auto file = AtomicFile::create(path);
  const bool ok = file.is_ok() && file->write("half").is_ok() && ::write(ready, "x", 1) == 1;
  if (ok) ::pause();  // for the signal
  ::_exit(2);
}

TEST_P(Atomic, nothing_is_left_by_a_signal_whose_handler_asks_to_remove) {
  target_.write("old");
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = child_that_writes(target_.path(), ready[1]);
  ::close(ready[1]);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::close(ready[0]);
  ::kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  EXPECT_EQ(folder(), std::vector<std::string>{"out.bin"});
  EXPECT_EQ(target_.read(), "old");
}

// A file name of a tensor file whose writing fails half way: the disk is full.
TEST_P(Atomic, a_full_disk_is_an_error_with_the_path) {
  const float one = 1;
  const Status status =
      write_tensor_file("/dev/full", FileFormat::kSafetensors, {{{"q", View<const float>(&one, {1})}}, {}, {}});
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_EQ(status.message(), "cannot write /dev/full: No space left on device");
}

TEST_P(Atomic, a_full_disk_is_an_error_of_npz_too) {
  const float one = 1;
  EXPECT_EQ(write_tensor_file("/dev/full", FileFormat::kNpz, {{{"q", View<const float>(&one, {1})}}, {}, {}}).message(),
            "cannot write /dev/full: No space left on device");
}

TEST_P(Atomic, a_device_is_written_to_and_stays_a_device) {
  auto file = AtomicFile::create("/dev/null");
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  EXPECT_TRUE(file->write("x").is_ok() && file->commit().is_ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_P(Atomic, a_folder_that_is_not_there_is_an_error) {
  const auto file = AtomicFile::create(target_.folder() + "/none/out.bin");
  EXPECT_EQ(file.status().message(), "No such file or directory");
  EXPECT_EQ(AtomicFile::create(target_.folder()).status().message(), "Is a directory");
}

INSTANTIATE_TEST_SUITE_P(File, Atomic, testing::Bool(),
                         [](const auto& way) { return way.param ? "without_a_name" : "with_a_hidden_name"; });

TEST(Atomic, a_nameless_file_survives_not_even_a_kill) {
  const TemporaryFile target("out.bin");
  target.write("old");
  {
    auto probe = AtomicFile::create(target.path());
    if (!probe.is_ok() || probe->has_name()) GTEST_SKIP() << "this file system has no O_TMPFILE";
  }
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = child_that_writes(target.path(), ready[1]);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  for (const auto& entry : std::filesystem::directory_iterator(target.folder()))
    EXPECT_EQ(entry.path().filename().string(), "out.bin");
}

// What write_tensor_file() refuses leaves the target as it was.
TEST(WriteTensorFile, contents_that_cannot_be_written_are_named_and_nothing_is_touched) {
  const TemporaryFile target("out.safetensors");
  target.write("old");
  const float one = 1;
  const View<const float> view(&one, {1});
  const std::string prefix = "cannot write " + target.path() + ": ";
  const std::vector<std::pair<FileContents, std::string>> rows = {
      {{{{"q", view}, {"q", view}}, {}, {}}, "the name 'q' comes twice"},
      {{{{"q", view}}, {{"q", "x"}}, {}}, "the name 'q' comes twice"},
      {{{{"", view}}, {}, {}}, "'' cannot be a name in a file"},
      {{{{"__metadata__", view}}, {}, {}}, "'__metadata__' cannot be a name in a file"},
      {{{{"q\xFF", view}}, {}, {}}, "the name 'q\\xff' is not UTF-8"},
      {{{}, {{"a", "\xC0\x80"}}, {}}, "the metadata '\\xc0\\x80' is not UTF-8"},
      {{{}, {}, {{"a", {"\xED\xA0\x80"}}}}, "the string '\\xed\\xa0\\x80' is not UTF-8"},
      {{{{"q", View<const float>(nullptr, {2})}}, {}, {}}, "tensor 'q' is absent or has a negative extent"},
      {{{{"q", View<const void>()}}, {}, {}}, "tensor 'q' is absent or has a negative extent"},
  };
  for (const auto& [contents, message] : rows)
    EXPECT_EQ(write_tensor_file(target.path(), contents).message(), prefix + message);
  EXPECT_EQ(target.read(), "old");
}

TEST(WriteTensorFile, a_name_without_a_format_is_refused) {
  EXPECT_EQ(write_tensor_file("out.bin", {}).message(),
            "cannot write out.bin: the name 'out.bin' does not say a format; expected .safetensors, .npz or .npy");
}

}  // namespace
}  // namespace qkv
