// Every problem that was asked and what came of it, all of them or some.
import { useState } from 'preact/hooks';
import { outcomeOf, type CheckReport, type Outcome, type Probe } from '../model/check_report';
import { r } from '../messages/report';
import { Choice } from '../views/switch';
import { size } from './numbers';
import { Section, Table } from './section';

const FILTERS = ['all', 'wrong', 'right', 'refused'] as const;
type Filter = (typeof FILTERS)[number];

const MARKS: Readonly<Record<Outcome, string>> = { right: '✓', wrong: '✗', refused: '–' };

function Found({ probe }: { probe: Probe }) {
  const text = r.value;
  const wrong = probe.tensors.filter((tensor) => !tensor.right);
  const lines =
    wrong.length > 0
      ? wrong.map(({ name, wrong: count, elements, largest_error }) => text.failing(name, count, elements, size(largest_error)))
      : probe.tensors.map(({ name, largest_error }) => text.largest(name, size(largest_error)));
  return (
    <td>
      {probe.message !== undefined && <div lang="en">{probe.message}</div>}
      {lines.map((line) => (
        <div key={line}>{line}</div>
      ))}
    </td>
  );
}

export function Probes({ report }: { report: CheckReport }) {
  const text = r.value;
  const [filter, setFilter] = useState<Filter>(report.counts.wrong > 0 ? 'wrong' : 'all');
  const outcomes = report.probes.map(outcomeOf);
  const count = (one: Filter) => (one === 'all' ? outcomes.length : outcomes.filter((outcome) => outcome === one).length);
  const options = FILTERS.map((one) => ({ value: one, label: `${text.filters[one]} (${count(one)})` }));
  return (
    <Section title={text.probes}>
      {!report.pairs_of_options && <p>{text.noPairs}</p>}
      {report.would_pass_too.length > 0 && (
        <p>
          {text.power} <span lang="en">{report.would_pass_too.join('; ')}</span>
        </p>
      )}
      <Choice label={text.show} value={filter} options={options} change={setFilter} />
      <Table label={text.probes} heads={[text.outcome, text.problem, text.found]}>
        {report.probes.map((probe, index) => {
          const outcome = outcomes[index] ?? 'wrong';
          if (filter !== 'all' && filter !== outcome) return null;
          return (
            <tr key={index} class={`probe is-${outcome}`}>
              <td class="report-outcome">
                <span aria-hidden="true">{MARKS[outcome]}</span> {text.outcomes[outcome]}
              </td>
              <th scope="row">
                <code>{probe.problem}</code>
              </th>
              <Found probe={probe} />
            </tr>
          );
        })}
      </Table>
    </Section>
  );
}
