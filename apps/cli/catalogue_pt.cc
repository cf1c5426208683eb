// A voz da lição em português do Brasil. (The lesson's voice in Brazilian Portuguese, written, not translated.)
#include "apps/cli/catalogue.h"

namespace qkv::cli {

const Catalogue& portuguese() {
  static const Catalogue text = {
      .bank_intro =
          "Um dicionário que responde com nuances. A consulta é comparada com todas as chaves, as "
          "pontuações viram pesos, e o que volta é a média ponderada de todos os valores.",
      .running_intro =
          "Uma camada inteira, pequena o bastante para seguir cada número. O tokenizador partiu o verbo em "
          "dois, ␣climb e ed; repare em quem o encontra.",
      .backward_intro = "Três consultas, três chaves, números sorteados: um caso honesto para conferir um gradiente.",
      .file_intro = "A atenção dos seus próprios tensores, em float64.",
      .one_token = "1 token",
      .tokens = "{0} tokens",
      .one_query = "1 consulta",
      .queries = "{0} consultas",
      .one_key = "1 chave",
      .keys = "{0} chaves",
      .heads = "{0} cabeças",
      .query_number = "consulta {0}",
      .key_number = "a chave {0}",
      .head_of_heads = "cabeça {0} de 0…{1}",
      .batch_of_batches = "item {0} de 0…{1} do lote",
      .changed = "Você mudou {0}: agora é {1}, antes era {2}.",
      .only_values_changed =
          "Só um valor mudou, então nenhum peso se mexe: quem olha para quem é assunto de consultas e "
          "chaves.",
      .query = "q: procura",
      .key = "k: anuncia",
      .value = "v: entrega",
      .step_norm = "Passo 0 · LayerNorm",
      .norm_text = "De cada linha tira-se a média; o que sobra é dividido pela dispersão σ.",
      .mean_is_zero = "Aqui a média de cada linha já é 0; só falta dividir por σ.",
      .step_project = "Passo 1 · Três projeções",
      .project_text =
          "Uma só entrada e três perguntas sobre ela: o que o token procura (q), o que anuncia (k), o que "
          "entrega (v)?",
      .picks_columns = "Estes pesos só escolhem colunas de U, e assim dá para rastrear cada número:",
      .picks_of_head = "cabeça {0}: q = u[{1}], k = u[{2}], v = u[{3}]",
      .merged_title = "As cabeças lado a lado",
      .merged_text = "Cada cabeça respondeu por si; as respostas ficam uma ao lado da outra, na ordem das cabeças.",
      .output_text = "Mais uma projeção mistura as cabeças.",
      .asks = "{0} pergunta, com q = {1}",
      .head_asks = "Cabeça {0} · {1} pergunta, com q = {2}",
      .score = "① q·k",
      .weight = "③ softmax",
      .mix = "④ peso × valor",
      .hidden = "oculto",
      .total = "soma",
      .one_line = "Numa linha só:",
      .looks_at = "{0} olha mais para {1}, com {2}",
      .looks_then = "; depois para {0}, com {1} (juntos, {2})",
      .looks_alike = "{0} olha para todas as chaves por igual, com {1} em cada uma",
      .looks_equally = "{0} olha por igual para {1}, com {2} em cada (juntos, {3})",
      .and_word = "e",
      .itself = "si mesmo",
      .answer = "A resposta: {0}.",
      .sees_nothing = "{0} não pode ver chave nenhuma: não há pesos, e a resposta é zero, não NaN.",
      .not_finite = "As pontuações de {0} contêm NaN ou ∞, que se espalha pela linha: nenhum peso dela é um número.",
      .takes_the_rest =
          "O sink leva o resto, {0}: entra no softmax como mais uma chave, mas não entrega valor; por isso os pesos "
          "somam {1}.",
      .nobody = "ninguém",
      .zero_query =
          "Uma consulta de zeros não pergunta nada. Toda pontuação é 0, todos os pesos são iguais: volta a "
          "média simples.",
      .not_divided = "As pontuações não foram divididas por √{0}.",
      .sharper =
          "As pontuações não foram divididas por √{0}, e a linha ficou mais decidida. Com mais dimensões logo "
          "seria tudo ou nada: é para isso que serve √d.",
      .only_the_largest = "Os {0} maiores de {1} pesos, {2} do total.",
      .all_title = "Todas as consultas de uma vez",
      .all_text = "Leia A linha por linha: para onde cada token olha. Cada linha soma 1.",
      .who_title = "Quem olha para quem",
      .matrices_left_out = "Aqui S e A têm {0} × {1} números; --json mostra todos.",
      .looked_ahead =
          "“{0}” vem primeiro e mesmo assim olha para {1} com {2}, uma palavra que ainda não veio. Um modelo "
          "que escreve não pode fazer isso: --causal proíbe, e a última linha não muda.",
      .causal_text =
          "Com a máscara causal, um token vê a si mesmo e o que veio antes. A última linha já via tudo: "
          "continua como era sem a máscara.",
      .back_title = "O caminho de volta",
      .back_text =
          "L = Σ dO ⊙ O = {0}. Cada matriz abaixo diz quanto L mudaria se um número se mexesse um pouquinho; ao "
          "lado, o mesmo, mexendo de verdade: ±{1}.",
      .back_text_alone =
          "L = Σ dO ⊙ O = {0}. Cada matriz abaixo diz quanto L mudaria se um número se mexesse um pouquinho.",
      .back_ones = "Não foi dado um d_output, então ele é todo de uns: L é a soma das saídas.",
      .row_sums =
          "Cada linha de dS soma 0 (a maior soma é {0}, puro arredondamento): somar o mesmo a todas as "
          "pontuações de uma linha não muda nada.",
      .row_sums_exact = "Cada linha de dS soma 0: somar o mesmo a todas as pontuações de uma linha não muda nada.",
      .row_sums_sink =
          "Aqui as linhas de dS não precisam somar 0: o que falta foi para o sink, cuja pontuação também se mexe "
          "(dsinks).",
      .not_shown_columns = "{0} não aparece: {1} colunas; --json mostra todas",
      .not_shown_rows = "{0} não aparece: {1} linhas; --json mostra todas",
      .differences = "diferenças centrais",
      .largest_error = "maior diferença {0}",
      .too_costly = "As diferenças centrais demorariam demais aqui; tente com menos tokens ou cabeças.",
      .sum = "soma",
      .gradients = "Gradientes das entradas e dos pesos",
      .saturated =
          "Uma linha que já se decidiu não devolve nada: onde o peso é quase 0, o fator A anula o colchete; "
          "onde é quase 1, o colchete é a própria média.",
      .try_next = "Experimente agora",
      .bank_hints = {{"bank --lang pt --set 'v[praça]=0,1'",
                      "a praça fala de dinheiro: nenhum peso muda, a resposta sim"},
                     {"bank --lang pt --set 'q[banco]=1,0'", "a mesma palavra faz outra pergunta"},
                     {"bank --lang pt --set 'q[banco]=0,0'", "nenhuma pergunta: a média simples"}},
      .running_hints = {{"running --lang pt --causal", "proibir olhar para a frente"},
                        {"running --lang pt --no-scale", "deixar de dividir por √d"},
                        {"running --lang pt --head {2}", "a outra cabeça"},
                        {"running --lang pt --row the", "outra linha, pelo token ou pelo índice"}},
      .backward_hints = {{"backward --lang pt --backward", "os gradientes, ao lado das diferenças centrais"}},
      .backward_done_hints = {{"backward --lang pt --backward --scale 20", "pontuações mais agudas: veja dS sumir"},
                              {"backward --lang pt --backward --set 'q[0]=9,9,9,9'", "saturar uma linha só"}},
      .file_hints = {{"{0} --lang pt --row {1}", "outra linha, pelo token ou pelo índice"},
                     {"{0} --lang pt --head {2}", "outra cabeça"},
                     {"{0} --json", "todos os números, com precisão total"}},
  };
  return text;
}

}  // namespace qkv::cli
