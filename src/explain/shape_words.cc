// Meanings and mistakes, line by line.
#include "src/explain/shape_words.h"

namespace qkv {
namespace {

struct Meaning {
  std::string_view line;
  Bilingual text;
};

constexpr Meaning kMeanings[] = {
    {"x", {"one row for each token, C numbers in it", "uma linha para cada token, com C números"}},
    {"wq", {"learned: turns a token into what it looks for", "aprendida: transforma o token naquilo que ele procura"}},
    {"wk", {"learned: turns a token into what it advertises", "aprendida: transforma o token naquilo que ele anuncia"}},
    {"wv", {"learned: turns a token into what it delivers", "aprendida: transforma o token naquilo que ele entrega"}},
    {"q", {"one query for each token", "uma consulta para cada token"}},
    {"k",
     {"one key for each token; as wide as a query, so that they can be compared",
      "uma chave para cada token; da largura da consulta, para que as duas possam ser comparadas"}},
    {"v", {"one value for each key; its width is free", "um valor para cada chave; a largura é livre"}},
    {"s", {"every query against every key", "cada consulta contra cada chave"}},
    {"a", {"the same after softmax: every row sums to 1", "o mesmo depois do softmax: cada linha soma 1"}},
    {"o", {"for each query, the weighted average of the values", "para cada consulta, a média ponderada dos valores"}},
    {"merged", {"the heads side by side again", "as cabeças lado a lado outra vez"}},
};

struct Mistake {
  std::string_view line;  // "" fits every line
  ShapeFault fault;
  Bilingual text;
};

// The first that fits is used: special lines before general ones.
constexpr Mistake kMistakes[] = {
    {"wq",
     ShapeFault::kTransposed,
     {"the weight is stored as [out,in], as torch.nn.Linear does; transpose it: x @ w.T",
      "o peso está guardado como [saída,entrada], como faz o torch.nn.Linear; transponha: x @ w.T"}},
    {"wk",
     ShapeFault::kTransposed,
     {"the weight is stored as [out,in], as torch.nn.Linear does; transpose it: x @ w.T",
      "o peso está guardado como [saída,entrada], como faz o torch.nn.Linear; transponha: x @ w.T"}},
    {"wv",
     ShapeFault::kTransposed,
     {"the weight is stored as [out,in], as torch.nn.Linear does; transpose it: x @ w.T",
      "o peso está guardado como [saída,entrada], como faz o torch.nn.Linear; transponha: x @ w.T"}},
    {"k",
     ShapeFault::kTransposed,
     {"k is already transposed; keep it as one row a token, the product takes kᵀ itself",
      "k já está transposta; deixe uma linha por token, o produto usa kᵀ por conta própria"}},
    {"s",
     ShapeFault::kTransposed,
     {"k qᵀ was computed instead of q kᵀ; then the softmax runs over queries",
      "foi calculado k qᵀ em vez de q kᵀ; assim o softmax corre sobre as consultas"}},
    {"a",
     ShapeFault::kTransposed,
     {"the weights are transposed: rows belong to queries, columns to keys",
      "os pesos estão transpostos: as linhas são das consultas, as colunas das chaves"}},
    {"",
     ShapeFault::kTransposed,
     {"the two axes are exchanged: a row belongs to a token",
      "os dois eixos estão trocados: cada linha é de um token"}},
    {"k",
     ShapeFault::kRows,
     {"k and v come from different tokens than the table says: in cross-attention and with a cache give T",
      "k e v vêm de outros tokens que não os da tabela: em atenção cruzada, e com cache, informe T"}},
    {"v",
     ShapeFault::kRows,
     {"v must have one row for each key: k and v were cut or padded differently",
      "v precisa de uma linha para cada chave: k e v foram cortadas ou preenchidas de modo diferente"}},
    {"q",
     ShapeFault::kColumns,
     {"the heads were not split: C columns are H heads of D columns each",
      "as cabeças não foram separadas: C colunas são H cabeças de D colunas"}},
    {"k",
     ShapeFault::kColumns,
     {"q and k differ in width, so there is no dot product; often k still has all heads in one row",
      "q e k têm larguras diferentes, e não há produto escalar; muitas vezes k ainda tem todas as cabeças em uma "
      "linha"}},
    {"wq",
     ShapeFault::kRows,
     {"the weight belongs to a model of another width", "o peso é de um modelo de outra largura"}},
    {"wk",
     ShapeFault::kRows,
     {"the weight belongs to a model of another width", "o peso é de um modelo de outra largura"}},
    {"wv",
     ShapeFault::kRows,
     {"the weight belongs to a model of another width", "o peso é de um modelo de outra largura"}},
    {"wk",
     ShapeFault::kColumns,
     {"with grouped heads wk has kv_heads · D columns, fewer than wq",
      "com cabeças agrupadas, wk tem kv_heads · D colunas, menos que wq"}},
    {"s",
     ShapeFault::kColumns,
     {"q was multiplied by k with the sequence axis of q: there is one column for each key",
      "q foi multiplicada por k usando o eixo da sequência de q: há uma coluna para cada chave"}},
    {"o",
     ShapeFault::kColumns,
     {"o is as wide as v, not as wide as q: D and Dv may differ",
      "o tem a largura de v, não a de q: D e Dv podem ser diferentes"}},
    {"merged",
     ShapeFault::kColumns,
     {"the heads were added or averaged; they stand side by side, H · Dv columns",
      "as cabeças foram somadas ou tiradas em média; elas ficam lado a lado, H · Dv colunas"}},
    {"merged",
     ShapeFault::kRank,
     {"swap heads and tokens before the reshape: [B,H,n,Dv] → [B,n,H,Dv] → [B,n,H·Dv]",
      "troque cabeças e tokens antes do reshape: [B,H,n,Dv] → [B,n,H,Dv] → [B,n,H·Dv]"}},
    {"",
     ShapeFault::kRank,
     {"an axis is missing or left over: the batch, or the heads", "falta ou sobra um eixo: o lote, ou as cabeças"}},
    {"",
     ShapeFault::kHeads,
     {"heads and kv_heads are exchanged, or kv_heads counts the queries of a group",
      "heads e kv_heads estão trocados, ou kv_heads conta as consultas de um grupo"}},
    {"",
     ShapeFault::kIndivisible,
     {"C is cut into heads of equal width; if D does not follow from C, give D",
      "C é cortado em cabeças de mesma largura; se D não vem de C, informe D"}},
    {"",
     ShapeFault::kRows,
     {"another number of tokens: padding, a [CLS] token, or batch and tokens exchanged",
      "outro número de tokens: preenchimento, um token [CLS], ou lote e tokens trocados"}},
    {"",
     ShapeFault::kColumns,
     {"another width: heads not split, or split into another number",
      "outra largura: cabeças não separadas, ou separadas em outro número"}},
};

}  // namespace

Bilingual meaning_of_line(std::string_view line) {
  for (const Meaning& meaning : kMeanings)
    if (meaning.line == line) return meaning.text;
  return {};
}

Bilingual usual_mistake(std::string_view line, ShapeFault fault) {
  for (const Mistake& mistake : kMistakes)
    if (mistake.fault == fault && (mistake.line.empty() || mistake.line == line)) return mistake.text;
  return {};
}

}  // namespace qkv
