// The smallest problem that still fails, the command that asks it again, and its numbers.
import { firstFailure, matricesOf, type CheckReport } from '../model/check_report';
import { r } from '../messages/report';
import { CodeBlock } from '../views/code_block';
import { Matrices } from './matrices';
import { Section } from './section';

export function Smallest({ report }: { report: CheckReport }) {
  const text = r.value;
  const { smallest, replay } = report;
  if (smallest === undefined) return null;
  // Where nothing smaller fails its numbers stand with the first probe.
  const matrices = firstFailure(report)?.problem === smallest ? undefined : matricesOf(report, smallest);
  return (
    <Section title={text.smallest}>
      <CodeBlock label={text.problem} code={smallest} />
      {replay !== undefined && <CodeBlock label={text.replay} code={replay} />}
      {matrices && <Matrices all={matrices} qkv={report.qkv} />}
    </Section>
  );
}
