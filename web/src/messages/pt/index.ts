// Every part's texts, by part.
export { bank } from './bank';
export { code } from './code';
export { dictionary } from './dictionary';
export { projections } from './projections';
export { running } from './running';
export { shapes } from './shapes';
export { shell } from './shell';
