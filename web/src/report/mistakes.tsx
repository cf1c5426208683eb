// Which mistake gives the same numbers; more than one where no probe tells them apart.
import type { CheckReport, Explanation } from '../model/check_report';
import { r } from '../messages/report';
import { CodeBlock } from '../views/code_block';
import { size } from './numbers';
import { Section } from './section';

function Found({ found }: { found: Explanation }) {
  const text = r.value;
  return (
    <li>
      <p lang="en">
        <b>{found.sentence}</b> <code>{found.names.join(' + ')}</code>
      </p>
      <p class="quiet-text">
        {text.same(text.inProbes(found.probes, found.of))}
        {found.of_tolerance !== 0 && ` ${text.upTo(size(found.error), size(found.of_tolerance))}`}
      </p>
    </li>
  );
}

export function Mistakes({ report }: { report: CheckReport }) {
  const text = r.value;
  const isWhole = report.mistakes.length > 0;
  const all = isWhole ? report.mistakes : report.partial;
  if (!isWhole && report.not_asked !== undefined)
    return (
      <Section title={text.notAsked}>
        <p>{text.meant}</p>
        <CodeBlock label="--problem" code={report.not_asked} />
      </Section>
    );
  if (all.length === 0) return null;
  return (
    <Section title={isWhole ? text.mistake : text.partial}>
      <ul class="report-mistakes">
        {all.map((found) => (
          <Found key={found.sentence} found={found} />
        ))}
      </ul>
      {report.mistakes.length > 1 && <p>{report.told_apart_by ? text.tie : text.tieWithout}</p>}
      {report.told_apart_by && <CodeBlock label={text.problem} code={report.told_apart_by} />}
    </Section>
  );
}
