// Starts the page.
import { render } from 'preact';
import '@fontsource-variable/inter/wght.css';
import '@fontsource-variable/source-serif-4/wght.css';
import '@fontsource-variable/source-serif-4/wght-italic.css';
import './style/tokens.css';
import './style/base.css';
import './style/layout.css';
import './style/components.css';
import './style/grid.css';
import './style/matrix.css';
import './style/save.css';
import { followAddress } from './model/state';
import { App } from './views/app';

followAddress();
const root = document.getElementById('app');
if (root) render(<App />, root);
