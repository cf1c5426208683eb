// What is saved can be read back, and says where it came from.
import { describe, expect, it } from 'vitest';
import { toCsv, toJson, toSvg, type Provenance, type TableOf } from '../src/model/export';

const from: Provenance = { engine: 'qkv 0.1.0', part: 'bank', address: 'http://x/#a=1', problem: 'attention T3 D2', made: '2026-11-30T00:00:00Z' };
const table: TableOf = { name: 'S', rows: ['a,b', 'say "x"'], columns: ['p', 'q'], values: [[0.1 + 0.2, -Infinity], [1, 2.5]] };

describe('exports', () => {
  it('CSV keeps full precision, quotes what needs it, and carries the provenance', () => {
    const lines = toCsv(table, from).split('\n');
    expect(lines).toContain('# problem: attention T3 D2');
    expect(lines).toContain('"a,b",0.30000000000000004,-Infinity');
    expect(lines).toContain('"say ""x""",1,2.5');
  });

  it('JSON reads back as the same numbers, with texts where JSON has none', () => {
    const read = JSON.parse(toJson(table, from));
    expect(read.values).toEqual([[0.30000000000000004, '-Infinity'], [1, 2.5]]);
    expect(read.provenance).toEqual(from);
  });

  it('SVG is well formed whatever the tokens are', () => {
    const svg = toSvg({ ...table, rows: ['<script>', '&'] }, from, () => ({ fill: '#fff', ink: '#000' }));
    expect(svg).toContain('&lt;script&gt;');
    expect(svg).not.toContain('<script>');
    expect(svg).toContain('"engine"');
  });
});
