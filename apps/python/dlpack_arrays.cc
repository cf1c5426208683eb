// What NumPy's C interface is for its arrays, DLPack is for all others'; the exchange itself is nanobind's.
#include "apps/python/dlpack_arrays.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "apps/python/dlpack_types.h"

namespace qkv::python {
namespace {

constexpr std::int32_t kCpu = 1, kCudaHost = 3, kRocmHost = 11;  // DLDeviceType

std::string device_name(std::int32_t type) {
  switch (type) {
    case 2: return "CUDA";
    case 4: return "OpenCL";
    case 7: return "Vulkan";
    case 8: return "Metal";
    case 10: return "ROCm";
    case 13: return "CUDA managed memory";
    case 14: return "oneAPI";
    case 15: return "WebGPU";
    default: return "DLPack's type " + std::to_string(type);
  }
}

[[noreturn]] void raise_type(const std::string& message) { throw nb::type_error(message.c_str()); }

// Whether object.name() is true; false for what has no such method.
bool says(nb::handle object, const char* name) {
  const nb::object method = nb::getattr(object, name, nb::none());
  return PyCallable_Check(method.ptr()) != 0 && PyObject_IsTrue(method().ptr()) == 1;
}

// The function that makes an array of the library of `like`: of its own namespace, or else of the module of its class
// or of one that the class is derived from. None if there is no such function.
nb::object importer_of(nb::handle like) {
  if (nb::hasattr(like, "__array_namespace__"))
    return nb::getattr(like.attr("__array_namespace__")(), "from_dlpack", nb::none());
  const nb::dict modules = nb::borrow<nb::dict>(nb::module_::import_("sys").attr("modules"));
  for (const nb::handle type : nb::borrow<nb::tuple>(like.type().attr("__mro__"))) {
    const auto full = nb::cast<std::string>(type.attr("__module__"));
    const nb::str package(full.substr(0, full.find('.')).c_str());
    if (!modules.contains(package)) continue;
    nb::object importer = nb::getattr(modules[package], "from_dlpack", nb::none());
    if (!importer.is_none()) return importer;
  }
  return nb::none();
}

// NumPy knows bfloat16 by ml_dtypes: the same bits under another name.
nb::object as_bfloat16(nb::object bits) {
  nb::object type;
  try {
    type = nb::module_::import_("ml_dtypes").attr("bfloat16");
  } catch (const nb::python_error&) {
    raise_type(
        "the result is bfloat16, which NumPy has by ml_dtypes only; install it (pip install qkv[bf16]), or give out, "
        "an "
        "array to write");
  }
  return bits.attr("view")(type);
}

}  // namespace

void refuse_hidden_state(const char* name, nb::handle object) {
  const nb::object wants_gradient = nb::getattr(object, "requires_grad", nb::none());
  if (wants_gradient.is(Py_True))
    raise_type(std::string(name) +
               " requires a gradient, and this function records none; call that of qkv.torch, or give " + name +
               ".detach()");
  if (says(object, "is_neg"))
    raise_type(std::string(name) + " is a view whose sign PyTorch has not changed yet; give " + name +
               ".resolve_neg()");
}

bool is_host(std::int32_t device_type) {
  return device_type == kCpu || device_type == kCudaHost || device_type == kRocmHost;
}

void raise_device(const char* name, std::int32_t device_type, std::int32_t device) {
  raise_type(std::string(name) + " is in the memory of a device (" + device_name(device_type) + ", number " +
             std::to_string(device) + "); expected an array in the CPU's: copy it there first (" + name +
             ".cpu() in PyTorch)");
}

void raise_unexported(const char* name, nb::handle object) {
  std::string reason;
  try {
    const auto device = nb::cast<nb::tuple>(object.attr("__dlpack_device__")());
    const auto type = nb::cast<std::int32_t>(nb::int_(device[0]));
    if (!is_host(type)) raise_device(name, type, nb::cast<std::int32_t>(nb::int_(device[1])));
    object.attr("__dlpack__")();
    reason = "what it gave is no capsule of DLPack";
  } catch (const nb::python_error& error) {
    reason =
        nb::cast<std::string>(error.type().attr("__name__")) + ": " + nb::cast<std::string>(nb::str(error.value()));
  }
  raise_type(std::string(name) + " can't be read by DLPack: " + reason);
}

nb::object export_tensor(Tensor tensor, nb::handle like) {
  std::array<std::size_t, kMaxRank> shape{};
  const auto rank = static_cast<std::size_t>(tensor.shape().rank());
  for (std::size_t axis = 0; axis < rank; ++axis)
    shape[axis] = static_cast<std::size_t>(tensor.shape()[static_cast<int>(axis)]);
  void* data = tensor.view().data;
  const DType dtype = tensor.dtype();
  const nb::capsule owner(new Tensor(std::move(tensor)),
                          [](void* memory) noexcept { delete static_cast<Tensor*>(memory); });
  if (const nb::object importer = importer_of(like); !importer.is_none())
    return importer(nb::cast(nb::ndarray<nb::array_api>(data, rank, shape.data(), owner, nullptr, dlpack_of(dtype),
                                                        nb::device::cpu::value)));
  const DType stored = dtype == DType::kBF16 ? DType::kF16 : dtype;
  const nb::object array = nb::cast(
      nb::ndarray<nb::numpy>(data, rank, shape.data(), owner, nullptr, dlpack_of(stored), nb::device::cpu::value));
  return dtype == DType::kBF16 ? as_bfloat16(array) : array;
}

}  // namespace qkv::python
