// The frame of a check's report: the verdict in a sentence, then the evidence for it, each only where there is some.
import { useEffect } from 'preact/hooks';
import { splitHeadline, type CheckReport, type Verdict } from '../model/check_report';
import { r } from '../messages/report';
import { language, theme } from '../model/view_state';
import { LiveRegion } from '../views/live_region';
import { Preferences } from '../views/preferences';
import { SaveMenu } from '../views/save_menu';
import { FirstFailure } from './first_failure';
import { Invariants } from './invariants';
import { Mistakes } from './mistakes';
import { Policies } from './policies';
import { Probes } from './probes';
import { Smallest } from './smallest';

const CLASSES: Readonly<Record<Verdict, string>> = { right: 'is-right', wrong: 'is-wrong', 'cannot judge': 'is-open' };

export function ReportPage({ report }: { report: CheckReport }) {
  const text = r.value;
  const [what, howMuch] = splitHeadline(report.headline);
  useEffect(() => {
    document.documentElement.lang = language.value === 'pt' ? 'pt-BR' : 'en';
    document.documentElement.dataset['theme'] = theme.value;
    document.title = `${text.verdicts[report.verdict]}: ${report.subject}`;
  });
  const { answered, wrong, unanswered, refused } = report.counts;
  return (
    <div class="page is-embedded report">
      <header class="masthead">
        <div class="toolbar">
          <span class="brand">qkv check</span>
          <span class="toolbar-space" />
          <Preferences />
        </div>
        <p class="report-subject">
          <span class={`report-verdict ${CLASSES[report.verdict]}`}>{text.verdicts[report.verdict]}</span>
          <code>{report.subject}</code>
        </p>
        <h1 lang="en">{what}</h1>
        {howMuch !== '' && <p class="subtitle" lang="en">{howMuch}</p>}
        <p class="report-counts">{text.counts(answered, wrong - unanswered, unanswered, refused)}</p>
        {text.spoken !== '' && <p class="report-counts">{text.spoken}</p>}
      </header>
      <main>
        <Mistakes report={report} />
        <Smallest report={report} />
        <FirstFailure report={report} />
        <Policies report={report} />
        <Invariants report={report} />
        <Probes report={report} />
        <SaveMenu />
      </main>
      <footer class="colophon">{text.made(report.qkv)}</footer>
      <LiveRegion />
    </div>
  );
}
