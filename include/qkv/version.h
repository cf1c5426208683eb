// The one place that holds the version; CMake, Python and the CLI read it from here.
#ifndef QKV_VERSION_H_
#define QKV_VERSION_H_

#define QKV_VERSION "0.1.0"

#endif  // QKV_VERSION_H_
