// Part 4: the same in code, three ways, as the tests run it, and beside it what the engine computes.
import numpy from '../../../examples/lesson/bank.py?raw';
import cpp from '../../../examples/lesson/bank.cc?raw';
import shell from '../../../examples/lesson/bank.sh?raw';
import { t } from '../messages';
import { choice } from '../model/codec';
import { matrix } from '../model/document';
import { createLink } from '../model/link';
import { property } from '../model/state';
import { language } from '../model/view_state';
import { live } from '../source/live';
import { CodeBlock } from '../views/code_block';
import { MatrixGrid } from '../views/matrix_grid';
import { PartFrame } from '../views/part_frame';
import { Choice } from '../views/switch';
import '../style/code.css';

const files = {
  numpy: { code: numpy, path: 'examples/lesson/bank.py' },
  cpp: { code: cpp, path: 'examples/lesson/bank.cc' },
  shell: { code: shell, path: 'examples/lesson/bank.sh' },
} as const;
const names = ['numpy', 'cpp', 'shell'] as const;

const tab = property('code.language', choice(...names), 'numpy');
const result = live(() => ({ example: 'bank' }));
const link = createLink();

export function CodePart({ number }: { number: number }) {
  const words = t.value.code;
  const { code, path } = files[tab.value];
  return (
    <PartFrame name="code" number={number} title={words.title} lead={<p>{words.lead}</p>} error={result.value.error}
      document={result.value.document}>
      <Choice
        label={words.tabs}
        value={tab.value}
        options={names.map((value) => ({ value, label: words.languages[value] }))}
        change={(next) => (tab.value = next)}
      />
      <div class="code-and-result">
        <div class="code-side">
          <CodeBlock key={path} code={code} label={path} />
          <p class="hint">{words.file(path)}</p>
          <p class="hint">{words.notes[tab.value]}</p>
        </div>
        <Result />
      </div>
    </PartFrame>
  );
}

function Result() {
  const words = t.value.code;
  const { document } = result.value;
  if (!document) return null;
  const tokens = document.tokens?.[language.value] ?? [];
  const axes = document.value_axes?.[language.value] ?? [];
  return (
    <div class="result-side">
      <h3>{words.resultTitle}</h3>
      <p class="hint">{words.resultText}</p>
      <MatrixGrid
        symbol="A"
        label={words.weights}
        rows={tokens}
        columns={tokens}
        values={matrix(document, 'p')?.values ?? []}
        rowAxis="query"
        columnAxis="key"
        link={link}
        scale="weights"
      />
      <MatrixGrid
        symbol="O"
        label={words.output}
        rows={tokens}
        columns={axes}
        values={matrix(document, 'o')?.values ?? []}
        rowAxis="query"
        link={link}
        identity="v"
      />
    </div>
  );
}
