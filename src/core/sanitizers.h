// Which sanitizer this build is instrumented by: g++ and clang say it in different ways.
#ifndef QKV_SRC_CORE_SANITIZERS_H_
#define QKV_SRC_CORE_SANITIZERS_H_

#ifdef __has_feature
#define QKV_HAS_FEATURE(feature) __has_feature(feature)
#else
#define QKV_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || QKV_HAS_FEATURE(address_sanitizer)
#define QKV_ADDRESS_SANITIZER 1
#else
#define QKV_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || QKV_HAS_FEATURE(thread_sanitizer)
#define QKV_THREAD_SANITIZER 1
#else
#define QKV_THREAD_SANITIZER 0
#endif

#endif  // QKV_SRC_CORE_SANITIZERS_H_
