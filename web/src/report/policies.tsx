// Questions that libraries answer differently, and the answers that were found.
import type { CheckReport } from '../model/check_report';
import { r } from '../messages/report';
import { Section, Table } from './section';

export function Policies({ report }: { report: CheckReport }) {
  const text = r.value;
  const asked = report.policies.filter(({ probes }) => probes > 0);
  if (asked.length === 0) return null;
  return (
    <Section title={text.policies}>
      <Table label={text.policies} heads={[text.question, text.answer, text.agreeing]}>
        {asked.map(({ question, answer, ours, probes, agreeing }) => (
          <tr key={question}>
            <th scope="row" lang="en">
              {question}
            </th>
            <td>
              <span lang="en">{answer}</span>
              {!ours && <span class="report-note">{text.differs}</span>}
            </td>
            <td>{text.wrongOf(agreeing, probes)}</td>
          </tr>
        ))}
      </Table>
    </Section>
  );
}
