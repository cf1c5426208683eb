// The command line of qkv.
#ifndef QKV_APPS_CLI_CLI_H_
#define QKV_APPS_CLI_CLI_H_

namespace qkv::cli {

// Runs one command. Returns the exit code: 0 done, 1 wrong, 2 usage or bad input, 3 cannot judge.
int run(int argc, char** argv);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_CLI_H_
