// A callable passed down the stack: what std::function is, without owning and so without allocating.
#ifndef QKV_SRC_CORE_FUNCTION_REF_H_
#define QKV_SRC_CORE_FUNCTION_REF_H_

#include <memory>
#include <type_traits>
#include <utility>

namespace qkv {

template <class Signature>
class FunctionRef;

// Constraint: the callable outlives the reference; a temporary does so for the call that it is an argument of.
template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F&, A...>)
  FunctionRef(F&& callable)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, A... arguments) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<A>(arguments)...);
        }) {}
  R operator()(A... arguments) const { return call_(object_, std::forward<A>(arguments)...); }

 private:
  void* object_;
  R (*call_)(void*, A...);
};

}  // namespace qkv

#endif  // QKV_SRC_CORE_FUNCTION_REF_H_
