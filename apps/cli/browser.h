// Opens an address in the reader's browser.
#ifndef QKV_APPS_CLI_BROWSER_H_
#define QKV_APPS_CLI_BROWSER_H_

#include <sys/types.h>

#include <string>

namespace qkv::cli {

class Browser {
 public:
  // The program that opens addresses: xdg-open, on a Mac open.
  static const char* usual_opener();

  explicit Browser(std::string opener = usual_opener()) : opener_(std::move(opener)) {}

  // Starts the opener, which may take as long as it likes.
  void open(const std::string& address);

  // What went wrong since the last call; "" while nothing did. Asked now and then: an opener fails late.
  std::string trouble();

 private:
  std::string opener_, trouble_;
  pid_t process_ = -1;  // running, or -1
};

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_BROWSER_H_
