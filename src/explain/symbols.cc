// The table of symbols.
#include "src/explain/symbols.h"

namespace qkv {
namespace {

struct Symbol {
  std::string_view stage, symbol;
  std::string_view formula;  // as the trace writes it in the plain case
  std::string_view lesson;   // as a lesson writes the same
};

constexpr Symbol kSymbols[] = {
    {"x", "X", "", ""},
    {"mean", "μ", "mean(x)", "mean(X)"},
    {"sigma", "σ", "√(var(x) + eps)", "√(var(X) + ε)"},
    {"u", "U", "(x − mean) / sigma", "(X − μ) / σ"},
    {"q", "Q", "u · wq, split into heads", "U W_Q"},
    {"k", "K", "u · wk, split into heads", "U W_K"},
    {"v", "V", "u · wv, split into heads", "U W_V"},
    {"raw", "QKᵀ", "q · kᵀ", "Q Kᵀ"},
    {"scaled", "S", "scale · raw", "scale · Q Kᵀ"},
    {"masked", "S", "scaled where allowed, else −∞", "S, −∞ where hidden"},
    {"p", "A", "softmax(masked)", "softmax(S)"},
    {"lse", "lse", "ln Σ exp(masked)", "ln Σ exp(S)"},
    {"o", "O", "p · v", "A V"},
    {"merged", "M", "the heads of o beside each other", "[O₁ … O_H]"},
    {"y", "Y", "merged · wo", "M W_O"},
    {"wq", "W_Q", "", ""},
    {"wk", "W_K", "", ""},
    {"wv", "W_V", "", ""},
    {"wo", "W_O", "", ""},
    {"dy", "dY", "", ""},
    {"dmerged", "dM", "dy · woᵀ", "dY W_Oᵀ"},
    {"do", "dO", "", ""},
    {"dp", "dA", "do · vᵀ", "dO Vᵀ"},
    {"delta", "δ", "rowsum(do ⊙ o)", "rowsum(dA ⊙ A)"},
    {"ds", "dS", "p ⊙ (dp − delta)", "A ⊙ (dA − rowsum(dA ⊙ A))"},
    {"dq", "dQ", "scale · ds · k", "scale · dS K"},
    {"dk", "dK", "scale · dsᵀ · q", "scale · dSᵀ Q"},
    {"dv", "dV", "pᵀ · do", "Aᵀ dO"},
    {"du", "dU", "dq · wqᵀ + dk · wkᵀ + dv · wvᵀ", "dQ W_Qᵀ + dK W_Kᵀ + dV W_Vᵀ"},
    {"dx", "dX", "", ""},
    {"dwq", "dW_Q", "uᵀ · dq", "Uᵀ dQ"},
    {"dwk", "dW_K", "uᵀ · dk", "Uᵀ dK"},
    {"dwv", "dW_V", "uᵀ · dv", "Uᵀ dV"},
    {"dwo", "dW_O", "mergedᵀ · dy", "Mᵀ dY"},
};

const Symbol* find(std::string_view stage) {
  for (const Symbol& symbol : kSymbols)
    if (symbol.stage == stage) return &symbol;
  return nullptr;
}

}  // namespace

std::string_view symbol_of(std::string_view stage) {
  const Symbol* symbol = find(stage);
  return symbol == nullptr ? stage : symbol->symbol;
}

std::string_view lesson_formula(std::string_view stage, std::string_view formula) {
  const Symbol* symbol = find(stage);
  return symbol == nullptr || formula.empty() || symbol->formula != formula ? std::string_view() : symbol->lesson;
}

}  // namespace qkv
