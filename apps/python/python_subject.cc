// A problem as Python's arguments, and Python's answer as tensors.
#include "apps/python/python_subject.h"

#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "apps/python/arrays.h"
#include "apps/python/numpy_arrays.h"
#include "src/check/variant_cache.h"
#include "src/core/for_each_element.h"

namespace qkv::python {
namespace {

using check::Case;
using check::SubjectAnswer;
using check::SubjectEnd;

const char* bytes_at(const View<const void>& view, std::int64_t offset) {
  return static_cast<const char*>(view.data) + offset * static_cast<std::int64_t>(size_of(view.dtype));
}

// The elements in logical order, side by side.
std::vector<char> elements_of(const View<const void>& view) {
  std::vector<char> elements;
  for_each_element(view.shape, view.strides, [&](std::int64_t offset) {
    const char* first = bytes_at(view, offset);
    elements.insert(elements.end(), first, first + size_of(view.dtype));
  });
  return elements;
}

// What a problem has, by the names of qkv.attention's arguments, and what of it nobody may change.
class Given {
 public:
  // `like`: see new_numpy.
  Given(const Case& asked, nb::handle like) : like_(like) {
    if (check::is_layer(asked.problem)) add_layer(asked);
    if (asked.problem.operation == Operation::kDecode) {
      add("q", asked.q.view);
      add_cache(asked);
    } else {
      add("q", asked.q.view);
      add("k", asked.k.view);
      add("v", asked.v.view);
      add("key_lengths", asked.problem.key_lengths);
    }
    add_positions(asked.problem);
    add("keep", asked.keep.view);
    add("key_mask", asked.key_mask.view);
    add("bias", asked.bias.view);
    add("d_o", asked.d_o.view);
    add("d_lse", asked.d_lse.view);
    add("cu_seqlens_q", asked.problem.cu_seqlens_q);
    add("cu_seqlens_k", asked.problem.cu_seqlens_k);
    add("slopes", asked.slopes);
    add("sinks", asked.sinks);
    if (asked.problem.scale) dict_["scale"] = *asked.problem.scale;
    if (asked.problem.softcap) dict_["softcap"] = *asked.problem.softcap;
    if (asked.problem.lse) dict_["return_lse"] = true;
  }

  const nb::dict& dict() const { return dict_; }

  // The name of the first array whose elements are not what they were; empty if all are.
  std::string changed() const {
    for (const Array& array : arrays_)
      if (!array.is_to_be_changed && elements_of(array.view) != array.elements) return array.name;
    return "";
  }

  // What a function that appends in place has left in an array that is there for it; absent if it left it as it was.
  Tensor left_in(const std::string& name) const {
    for (const Array& array : arrays_)
      if (array.name == name && elements_of(array.view) != array.elements) {
        Result<Tensor> copied = converted(array.view, array.view.dtype);
        raise_if_error(copied.status());
        return std::move(copied).value();
      }
    return Tensor();
  }

 private:
  struct Array {
    std::string name;
    nb::object owner;  // a call that drops its argument must not free what is looked at afterwards
    View<const void> view;
    std::vector<char> elements;
    bool is_to_be_changed = false;
  };

  void add_cache(const Case& asked) {
    Result<check::CacheState> before = check::cache_before(asked);
    raise_if_error(before.status());
    Result<check::CacheState> tokens = check::new_tokens(asked);
    raise_if_error(tokens.status());
    add("k", std::as_const(tokens->k).view());
    add("v", std::as_const(tokens->v).view());
    for (const auto& [name, tensor] : {std::pair("k_cache", &before->k), std::pair("v_cache", &before->v)}) {
      add(name, std::as_const(*tensor).view());
      arrays_.back().is_to_be_changed = true;
    }
    add("cache_lengths", before->lengths);
  }

  void add_layer(const Case& asked) {
    for (const check::NamedLayerTensor& one : check::kLayerTensors) add(one.name, (asked.layer.*one.member).view);
    if (asked.problem.layer.norm) dict_["eps"] = asked.layer_given().options.eps;
    if (asked.problem.operation == Operation::kLayerNorm) return;
    dict_["query_heads"] = asked.problem.query_heads;
    dict_["kv_heads"] = asked.problem.kv_heads;
  }

  // Its axes lie in memory as those of `tensor` do: [B,T,H,D] where the problem says so.
  void add(const char* name, const View<const void>& tensor) {
    if (!tensor.is_present()) return;
    const bool swapped = tensor.shape.rank() == kMaxRank && tensor.strides[1] < tensor.strides[2];
    View<void> memory;
    nb::object array = new_numpy(tensor.dtype, swapped ? swap_axes(tensor, 1, 2).shape : tensor.shape, like_, memory);
    if (swapped) {
      array = array.attr("swapaxes")(1, 2);
      memory = swap_axes(memory, 1, 2);
    }
    std::vector<char> elements = elements_of(tensor);
    std::size_t next = 0;
    const std::size_t size = size_of(tensor.dtype);
    for_each_element(memory.shape, memory.strides, [&](std::int64_t offset) {
      std::memcpy(static_cast<char*>(memory.data) + offset * static_cast<std::int64_t>(size), &elements[next], size);
      next += size;
    });
    dict_[name] = array;
    arrays_.push_back({name, std::move(array), memory, std::move(elements)});
  }

  // An empty list is an option that is not given.
  template <class T>
  void add(const char* name, const std::vector<T>& values) {
    if (!values.empty()) add(name, View<const void>(View<const T>(values.data(), {std::ssize(values)})));
  }

  void add_positions(const Problem& problem) {
    const bool is_decode = problem.operation == Operation::kDecode;  // stands where it stands
    if (problem.causality == Causality::kCausal && !is_decode) dict_["causal"] = true;
    if (problem.window != Window{}) dict_["window"] = nb::make_tuple(problem.window.left, problem.window.right);
    if (is_decode) return;
    const bool corners_meet =
        problem.query_length == problem.key_length && problem.key_lengths.empty() && problem.cu_seqlens_q.empty();
    if (problem.corner == Corner::kOffset)
      dict_["offset"] = problem.offset;
    else if (problem.corner != Corner::kUnset && !corners_meet)
      dict_["corner"] = std::string(to_string(problem.corner));
  }

  nb::handle like_;
  nb::dict dict_;
  std::vector<Array> arrays_;
};

SubjectAnswer failed(std::string message) { return {SubjectEnd::kFailed, std::move(message), {}}; }

// Raises what Input raises, and ValueError for an element type that is no floating one.
void read_tensor(const nb::dict& given, const char* name, Tensor& tensor) {
  if (!given.contains(name)) return;
  const Input input(name, given[name]);
  if (!is_floating(input.view.dtype))
    throw nb::value_error((std::string(name) + " has the element type " + std::string(to_string(input.view.dtype)) +
                           "; expected a floating one")
                              .c_str());
  Result<Tensor> copied = converted(input.view, input.view.dtype);
  raise_if_error(copied.status());
  tensor = std::move(copied).value();
}

void read_answer(const nb::dict& answer, const Given& given, check::SubjectOutputs& outputs) {
  const struct {
    const char* name;
    Tensor& tensor;
  } all[] = {{"o", outputs.o},   {"lse", outputs.lse},     {"dq", outputs.dq},        {"dk", outputs.dk},
             {"dv", outputs.dv}, {"dbias", outputs.dbias}, {"dsinks", outputs.dsinks}};
  for (const auto& [name, tensor] : all) read_tensor(answer, name, tensor);
  for (const check::NamedLayerOutput& one : check::kLayerOutputs)
    read_tensor(answer, one.name, outputs.layer.*one.member);
  for (const auto& [name, tensor] : {std::pair("k_cache", &outputs.cache_k), std::pair("v_cache", &outputs.cache_v)}) {
    *tensor = given.left_in(name);
    read_tensor(answer, name, *tensor);
  }
}

SubjectAnswer ask_python(nb::handle ask, const Given& given) {
  const auto result = nb::cast<nb::tuple>(ask(given.dict()));
  const auto end = nb::cast<std::string>(result[0]);
  const auto message = nb::cast<std::string>(result[1]);
  if (const std::string name = given.changed(); !name.empty())
    return {SubjectEnd::kWroteOutside, "it changed " + name + ", which is its caller's", {}};
  if (end == "refused") return {SubjectEnd::kRefused, message, {}};
  if (end == "failed") return failed(message);
  SubjectAnswer answer;
  try {
    read_answer(nb::cast<nb::dict>(result[2]), given, answer.outputs);
  } catch (const nb::builtin_exception& error) {
    return failed(error.what());
  }
  return answer;
}

}  // namespace

Result<SubjectAnswer> PythonSubject::run(const Case& asked) {
  const nb::gil_scoped_acquire gil;
  try {
    return ask_python(ask_, Given(asked, like_));
  } catch (const nb::python_error&) {
    raised_ = std::current_exception();
    return cancelled("check: stopped by an exception of Python's");
  }
}

}  // namespace qkv::python
