// The program that calls a library's function: started by child_process.cc, in a process that may end at any time.
#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "src/check/library/child_faults.h"
#include "src/check/library/child_symbols.h"
#include "src/check/library/protocol.h"

namespace qkv::check {
namespace {

void say(Control& control, Outcome outcome, const std::string& text = {}) {
  const std::size_t size = std::min(text.size(), kTextSize - 1);
  std::memcpy(control.text, text.data(), size);
  control.text[size] = '\0';
  control.outcome = outcome;
}

qkv_check_function load(Control& control) {
  void* library = ::dlopen(control.path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    say(control, Outcome::kNoLibrary, reason != nullptr ? reason : "no reason given");
    return nullptr;
  }
  void* symbol = ::dlsym(library, control.symbol);
  if (symbol == nullptr) {
    say(control, Outcome::kNoSymbol, exported_functions(library));
    return nullptr;
  }
  say(control, Outcome::kLoaded);
  return reinterpret_cast<qkv_check_function>(symbol);
}

// The pages of a region in address space of their own, far from anything else.
class Mapping {
 public:
  explicit Mapping(const Region& region) : size_(region.page_bytes + 2 * kGuardBytes) {
    void* space = ::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return;
    space_ = static_cast<unsigned char*>(space);
    const int access = region.is_output != 0 ? PROT_READ | PROT_WRITE : PROT_READ;
    void* pages = space_ + kGuardBytes;
    is_made_ = region.page_bytes == 0 || ::mmap(pages, region.page_bytes, access, MAP_SHARED | MAP_FIXED, kArenaFd,
                                                static_cast<off_t>(region.page_begin)) == pages;
  }
  ~Mapping() {
    if (space_ != nullptr) ::munmap(space_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  bool is_made() const { return is_made_; }
  unsigned char* pages() const { return space_ + kGuardBytes; }

 private:
  std::size_t size_;
  unsigned char* space_ = nullptr;
  bool is_made_ = false;
};

// "std::runtime_error: bad shape" of the exception that is being handled.
std::string name_of_exception() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "one of another language";
  int status = 0;
  char* plain = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  std::string name = plain != nullptr ? plain : type->name();
  std::free(plain);
  try {
    throw;
  } catch (const std::exception& error) {
    name += std::string(": ") + error.what();
  } catch (...) {
    name += "";
  }
  return name;
}

void call(Control& control, qkv_check_function function) {
  qkv_check_call problem = control.call;
  Mapping* mappings[kMaxRegions] = {};
  bool is_mapped = true;
  WatchedRegions watched;
  for (std::uint32_t i = 0; i < control.region_count && is_mapped; ++i) {
    const Region& region = control.regions[i];
    mappings[i] = new Mapping(region);
    is_mapped = mappings[i]->is_made();
    if (!is_mapped) break;
    unsigned char* first = mappings[i]->pages() + region.lead;
    std::memcpy(reinterpret_cast<unsigned char*>(&problem) + region.pointer_at, static_cast<const void*>(&first),
                sizeof(first));
    watched.add(first, mappings[i]->pages(), region);
  }
  if (!is_mapped) {
    say(control, Outcome::kNoMemory, std::strerror(errno));
  } else {
    try {
      watch(&watched);
      const int code = function(&problem);
      watch(nullptr);
      control.code = code;
      say(control, Outcome::kReturned);
    } catch (...) {
      watch(nullptr);
      say(control, Outcome::kException, name_of_exception());
    }
  }
  for (Mapping* mapping : mappings) delete mapping;
}

int serve() {
  void* memory = ::mmap(nullptr, kControlBytes, PROT_READ | PROT_WRITE, MAP_SHARED, kArenaFd, 0);
  if (memory == MAP_FAILED) return 1;
  Control& control = *static_cast<Control*>(memory);
  catch_faults(control);
  qkv_check_function function = nullptr;
  char byte = 0;
  while (::read(kSocketFd, &byte, 1) == 1) {
    ::alarm(control.alarm_seconds);
    if (control.order == Order::kLoad)
      function = load(control);
    else
      call(control, function);
    ::alarm(0);
    if (::write(kSocketFd, &byte, 1) == 1) continue;
    say(control, Outcome::kLostParent);
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace qkv::check

int main() {
  ::close_range(qkv::check::kArenaFd + 1, ~0U, 0);
  // If memory runs out it is the library's doing: the kernel shall stop this process, not the checker.
  if (const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); file >= 0) {
    [[maybe_unused]] const ssize_t written = ::write(file, "1000", 4);
    ::close(file);
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a crash would take with it what waits to be written
  ::_exit(qkv::check::serve());              // nothing of the library's own that runs at exit
}
