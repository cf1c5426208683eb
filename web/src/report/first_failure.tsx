// The first probe that fails: its worst elements, how the error looks, and where a weight leaks.
import { firstFailure, matricesOf, type CheckReport } from '../model/check_report';
import { numberOf } from '../model/document';
import { r } from '../messages/report';
import { Matrices } from './matrices';
import { size, value } from './numbers';
import { Section, Table } from './section';

function Shape({ report }: { report: CheckReport }) {
  const text = r.value;
  const { error } = report;
  if (!error) return null;
  return (
    <>
      <p>
        {Number.isFinite(numberOf(error.bounds)) ? text.bounds(size(error.bounds)) : text.notFinite}
        {Number.isFinite(numberOf(error.correlation)) && ` ${text.correlation(size(error.correlation))}`}
      </p>
      {error.places.length > 0 && (
        <p>
          {text.where} <span lang="en">{error.places.join('; ')}</span>
        </p>
      )}
    </>
  );
}

function Leak({ report }: { report: CheckReport }) {
  if (!report.leak) return null;
  const { index, weight } = report.leak;
  return <p>{r.value.leak(index.join(', '), value(weight), index[2] ?? 0, index[3] ?? 0)}</p>;
}

export function FirstFailure({ report }: { report: CheckReport }) {
  const text = r.value;
  const probe = firstFailure(report);
  if (!probe) return null;
  const matrices = matricesOf(report, probe.problem);
  const wrong = probe.tensors.filter((tensor) => !tensor.right);
  return (
    <Section title={text.first}>
      <p>
        <code>{probe.problem}</code>
      </p>
      {probe.message !== undefined && <p lang="en">{probe.message}</p>}
      {wrong.length > 0 && (
        <Table label={text.worst} heads={[text.tensor, text.worst, text.gotShort, text.wantShort, text.error, text.allowed, text.wrong]}>
          {wrong.map((tensor) => (
            <tr key={tensor.name}>
              <th scope="row">{tensor.name}</th>
              <td>[{tensor.worst?.index.join(', ')}]</td>
              <td>{tensor.worst && value(tensor.worst.got)}</td>
              <td>{tensor.worst && value(tensor.worst.want)}</td>
              <td>{tensor.worst && size(tensor.worst.error)}</td>
              <td>{tensor.worst && size(tensor.worst.bound)}</td>
              <td>{text.wrongOf(tensor.wrong, tensor.elements)}</td>
            </tr>
          ))}
        </Table>
      )}
      <Shape report={report} />
      <Leak report={report} />
      {matrices && <Matrices all={matrices} qkv={report.qkv} />}
    </Section>
  );
}
