// Starts the report of a check: one file that holds its document, the page and its fonts.
import { render } from 'preact';
import '@fontsource-variable/inter/wght.css';
import '@fontsource-variable/source-serif-4/wght.css';
import '@fontsource-variable/source-serif-4/wght-italic.css';
import '../style/tokens.css';
import '../style/base.css';
import '../style/layout.css';
import '../style/components.css';
import '../style/grid.css';
import '../style/save.css';
import '../style/report.css';
import type { CheckReport } from '../model/check_report';
import { followAddress } from '../model/state';
import { ReportPage } from './report_page';

followAddress();
const root = document.getElementById('app');
// What `qkv check --html` wrote into the page (src/check/report_html.cc).
const written = document.getElementById('report')?.textContent ?? '';
if (root && written !== '') render(<ReportPage report={JSON.parse(written) as CheckReport} />, root);
