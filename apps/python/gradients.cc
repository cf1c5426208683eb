// Names to places, and arrays back under their names.
#include "apps/python/gradients.h"

#include <algorithm>
#include <string>

#include "apps/python/arguments.h"

namespace qkv::python {

GradientRequest::GradientRequest(nb::handle gradients, nb::handle out, std::span<const std::string_view> known)
    : known_(known), out_(known.size()) {
  for (const std::string& name : as_texts("gradients", gradients)) {
    const std::size_t place = place_of(name, "gradients");
    if (std::find(wanted_.begin(), wanted_.end(), place) != wanted_.end())
      throw nb::value_error(("gradients holds '" + name + "' twice").c_str());
    wanted_.push_back(place);
  }
  if (out.is_none()) return;
  if (!nb::isinstance<nb::dict>(out))
    throw nb::type_error(("out is a " + kind_of(out) + "; expected a dict of names of gradients and arrays").c_str());
  for (const auto& [key, array] : nb::borrow<nb::dict>(out)) {
    const std::string name = as_text("a key of out", key);
    const std::size_t place = place_of(name, "out");
    if (std::find(wanted_.begin(), wanted_.end(), place) == wanted_.end())
      throw nb::value_error(("out holds '" + name + "', which is not among gradients").c_str());
    out_[place] = nb::borrow(array);
  }
}

std::size_t GradientRequest::place_of(std::string_view name, const char* argument) const {
  const auto found = std::find(known_.begin(), known_.end(), name);
  if (found != known_.end()) return static_cast<std::size_t>(found - known_.begin());
  std::string message = std::string(argument) + " holds '" + std::string(name) + "'; expected some of";
  for (const std::string_view one : known_) message += (one == known_.front() ? " " : ", ") + std::string(one);
  throw nb::value_error(message.c_str());
}

nb::object GradientRequest::out(std::size_t which) const { return out_[which].is_valid() ? out_[which] : nb::none(); }

nb::tuple GradientRequest::take_tuple() {
  nb::list items;
  for (Written& gradient : written_) items.append(gradient.take());
  return nb::tuple(items);
}

nb::dict GradientRequest::take_dict() {
  nb::dict items;
  for (std::size_t i = 0; i < written_.size(); ++i)
    items[nb::str(known_[wanted_[i]].data(), known_[wanted_[i]].size())] = written_[i].take();
  return items;
}

}  // namespace qkv::python
