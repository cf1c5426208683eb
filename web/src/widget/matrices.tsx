// The matrices of one head: q, k and v, their scores, the weights, the output; one lights the others.
import { matrix, type Document } from '../model/document';
import type { Link } from '../model/link';
import { w } from '../messages/widget';
import { isSmall, sentenceOf, Shown, type ShownProps } from './shown';

const NAMES = ['q', 'k', 'v', 'masked', 'p', 'o'] as const;
type Name = (typeof NAMES)[number];

interface MatricesProps {
  readonly document: Document;
  readonly queries: readonly string[];
  readonly keys: readonly string[];
  readonly link: Link;
}

function propsOf(name: Name, { document, queries, keys, link }: MatricesProps): ShownProps | null {
  const found = matrix(document, name);
  if (!found) return null;
  const scores = matrix(document, 'masked')?.values;
  const isOfKeys = name === 'k' || name === 'v';
  const isOfPairs = name === 'masked' || name === 'p';
  const hasMasked = isOfPairs && scores?.some((row) => row.includes(-Infinity));
  return {
    found,
    label: w.value.matrices[name],
    rows: isOfKeys ? keys : queries,
    rowAxis: isOfKeys ? 'key' : 'query',
    link,
    scale: name === 'p' ? 'weights' : 'diverging',
    ...(isOfPairs ? { columns: keys } : {}),
    ...(hasMasked ? { isMasked: (row: number, column: number) => scores?.[row]?.[column] === -Infinity } : {}),
    ...(isOfPairs ? {} : { identity: name === 'o' ? 'v' : (name as 'q' | 'k' | 'v') }),
  };
}

export function Matrices(props: MatricesProps) {
  const all = NAMES.flatMap((name) => propsOf(name, props) ?? []);
  const hasPictures = all.some(({ found }) => !isSmall(found));
  const groups = [all.slice(0, 3), all.slice(3)];
  const { query, key } = props.link.hover.value ?? props.link.pin.value ?? {};
  const weights = all.find(({ scale }) => scale === 'weights');
  const isPair = weights && query !== undefined && key !== undefined;
  return (
    <>
      {groups.map((group, at) => (
        <div key={at} class={hasPictures ? 'widget-maps' : 'matrices is-close'}>
          {group.map((one) => (
            <Shown key={one.label} {...one} />
          ))}
        </div>
      ))}
      <p class="map-note">{isPair ? sentenceOf(weights, query, key) : w.value.hint}</p>
    </>
  );
}
