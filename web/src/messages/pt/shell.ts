// A moldura da página em português.
import type { shell as english } from '../en/shell';

export const shell: typeof english = {
  pageTitle: 'qkv: atenção, à mão',
  title: 'Atenção, à mão',
  subtitle:
    'Uma consulta é comparada com todas as chaves, os escores viram pesos, e volta a média ponderada dos valores. ' +
    'Em meia hora você mesmo faz essa conta, na ida e na volta. Todo número aqui é calculado enquanto você olha.',
  contents: 'Partes',
  skip: 'Ir para a lição',
  language: 'Idioma',
  theme: 'Tema',
  themes: { auto: 'como o sistema', light: 'claro', dark: 'escuro' },
  undo: 'Desfazer',
  redo: 'Refazer',
  startAgain: 'Recomeçar',
  copyLink: 'Copiar um link para esta vista',
  linkCopied: 'O link foi copiado',
  linkShown: 'O link para esta vista; tecle Ctrl C para copiar',
  copy: 'Copiar',
  copied: 'Copiado',
  selected: 'O texto está selecionado: tecle Ctrl C',
  masked: 'escondido pela máscara',
  clipped: 'no limite ou além',
  editHint: 'Enter ou um algarismo edita um número, Espaço o mantém aceso',
  gridHint:
    'Clique em um número para mudá-lo. Aponte o nome de uma linha ou coluna para ver onde mais ela conta; um clique ou Espaço a mantém acesa, Esc solta.',
  linkHint: 'Aponte um número ou um nome para ver onde mais ele conta; um clique ou Espaço o mantém aceso, com Shift mais um, Esc solta.',
  kept: (name, isKept) => (isKept ? `${name} fica aceso` : `${name} foi solto`),
  cell: (symbol: string, row: string, column: string) => `${symbol}: ${row}${column === '' ? '' : ` → ${column}`}`,
  exportOf: (name: string) => `Salvar ${name} em um arquivo`,
  saved: (file) => `${file} foi salvo`,
  notSaved: 'Não foi possível criar o arquivo',
  formats: { SVG: 'figura, nítida em qualquer tamanho', PNG: 'figura em pixels', CSV: 'tabela, todos os dígitos', JSON: 'tabela, com a origem dos números' },
  asTable: (label: string) => `Em tabela: ${label}`,
  engine: { http: 'calculado pelo qkv nesta máquina', wasm: 'calculado pelo qkv nesta página; nada é enviado' },
};
