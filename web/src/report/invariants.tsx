// What must hold whatever the numbers are, as numbers.
import type { CheckReport } from '../model/check_report';
import { r } from '../messages/report';
import { size } from './numbers';
import { Mark, Section, Table } from './section';

export function Invariants({ report }: { report: CheckReport }) {
  const text = r.value;
  const asked = report.invariants.filter((one) => one.asked);
  if (report.invariants.length === 0) return null;
  return (
    <Section title={text.invariants}>
      <Table label={text.invariants} heads={[text.invariant, text.outcome, text.deviation, text.allowed]}>
        {asked.map(({ name, says, holds = false, deviation = 'NaN', bound = 'NaN' }) => (
          <tr key={name}>
            <th scope="row" lang="en">
              {says}
            </th>
            <td>
              <Mark isRight={holds} text={holds ? text.holds : text.broken} />
            </td>
            <td>{size(deviation)}</td>
            <td>{size(bound)}</td>
          </tr>
        ))}
        <tr>
          <th scope="row">{text.sameBits}</th>
          <td>
            <Mark isRight={report.same_bits} text={report.same_bits ? text.holds : text.broken} />
          </td>
          <td>{report.same_bits ? '0' : text.differ}</td>
          <td>0</td>
        </tr>
      </Table>
    </Section>
  );
}
