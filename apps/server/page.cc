// Looking up files and their types.
#include "apps/server/page.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace qkv::server {
namespace {

constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json"},
    {".webmanifest", "application/manifest+json"},
    {".wasm", "application/wasm"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
    {".woff", "font/woff"},
    {".ttf", "font/ttf"},
    {".txt", "text/plain; charset=utf-8"},
    {".md", "text/markdown; charset=utf-8"},
};

constexpr std::size_t kHashLength = 8;  // of Vite

}  // namespace

const Asset* find(const Page& page, std::string_view path) {
  if (path == "/") path = "/index.html";
  const auto found = std::find_if(page.begin(), page.end(), [&](const Asset& asset) { return asset.path == path; });
  return found == page.end() ? nullptr : &*found;
}

std::string_view content_type(std::string_view path) {
  for (const auto& [end, type] : kTypes)
    if (path.ends_with(end)) return type;
  return "application/octet-stream";
}

bool is_named_by_hash(std::string_view path) {
  if (!path.starts_with("/assets/")) return false;
  const std::string_view stem = path.substr(0, path.rfind('.'));
  if (stem.size() <= kHashLength || stem[stem.size() - kHashLength - 1] != '-') return false;
  const std::string_view hash = stem.substr(stem.size() - kHashLength);
  return std::all_of(hash.begin(), hash.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; });
}

}  // namespace qkv::server
