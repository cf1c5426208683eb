// The panel: where one looks, the matrices of that head, and a row from its query to its output.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { effect, signal } from '@preact/signals';
import type { Document } from '../model/document';
import { createLink } from '../model/link';
import { language } from '../model/view_state';
import { t } from '../messages';
import { w } from '../messages/widget';
import { Chain, ReadKeys, Reads } from '../parts/own_row';
import { LiveRegion } from '../views/live_region';
import { Preferences } from '../views/preferences';
import { OriginOf, type Origin } from '../views/provenance';
import { SaveMenu } from '../views/save_menu';
import { Slider } from '../views/slider';
import type { Asked, Axis } from './answer';
import { Matrices } from './matrices';

/** The names of `count` queries or keys: tokens, or their numbers. */
function named(given: readonly string[] | undefined, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => given?.[index] ?? String(index));
}

function Index({ label, value, count, change }: { label: string; value: number; count: number; change: (value: number) => void }) {
  return count > 1 ? <Slider label={label} value={value} least={0} most={count - 1} text={String(value)} change={change} /> : null;
}

function Place({ asked, axis }: { asked: Asked; axis: Axis }) {
  return <Index label={t.value.own[axis]} value={asked.place.value[axis]} count={asked.counts[axis]} change={(index) => asked.ask(axis, index)} />;
}

function Head({ document }: { document: Document }) {
  const { Tq = 0, Tk = 0 } = document.dims;
  const tokens = document.tokens?.[language.value];
  const queries = named(tokens, Tq);
  const keys = named((document.key_tokens ?? document.tokens)?.[language.value], Tk);
  const { link, row } = useMemo(() => ({ link: createLink(), row: signal(document.select.row) }), [Tq, Tk]);
  // A row that is kept lit is the one that is looked at.
  useEffect(() => effect(() => void (row.value = link.pin.value?.query ?? row.peek())), [link]);
  const shown = Math.min(row.value, Tq - 1);
  return (
    <>
      <Matrices document={document} queries={queries} keys={keys} link={link} />
      <div class="controls">
        <Index label={t.value.own.row} value={shown} count={Tq} change={(index) => (row.value = index)} />
      </div>
      <div class="beside">
        <Reads document={document} row={shown} queries={queries} keys={keys} />
        <ReadKeys document={document} row={shown} queries={queries} keys={keys} />
        <Chain document={document} row={shown} queries={queries} keys={keys} />
      </div>
    </>
  );
}

export function Panel({ asked }: { asked: Asked }) {
  const text = w.value;
  const { document, error, batch, head } = asked.answer.value;
  const last = useRef<Document | undefined>(undefined);
  last.current = document ?? last.current; // what was refused leaves the picture before it
  const shown = last.current;
  // Of a notebook's address no more than its place: what follows may be the key to it.
  const origin = useRef<Origin>({ part: 'notebook', document: null, address: location.origin + location.pathname });
  origin.current.document = document ? { ...document, select: { ...document.select, batch, head } } : null;
  return (
    <section class="widget" aria-label={text.panel} lang={language.value === 'pt' ? 'pt-BR' : 'en'}>
      <header class="toolbar">
        <span class="brand">qkv</span>
        <code>{shown?.problem}</code>
        <span class="toolbar-space" />
        <Preferences auto={text.theme} />
      </header>
      <div class="controls">
        <Place asked={asked} axis="batch" />
        <Place asked={asked} axis="head" />
      </div>
      {asked.isWaiting.value && <p role="status">{text.silent}</p>}
      {error !== undefined && (
        <p class="error" role="alert">
          {text.refused} <span lang="en">{error}</span>
        </p>
      )}
      <OriginOf.Provider value={origin.current}>{shown && <Head document={shown} />}</OriginOf.Provider>
      <SaveMenu />
      <LiveRegion />
    </section>
  );
}
