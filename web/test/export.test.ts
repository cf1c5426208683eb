// What is saved can be read back, and says where it came from.
import { describe, expect, it } from 'vitest';
import { fileName, toCsv, toJson, type Provenance, type TableOf } from '../src/model/export';
import { mapPicture, niceStep, pixelsOf } from '../src/model/map_picture';
import { checksum, withText } from '../src/model/png_text';
import { tablePicture, type Look } from '../src/model/table_picture';

const from: Provenance = {
  engine: 'qkv 0.1.0', part: 'bank', address: 'http://x/#a=1', problem: 'attention T3 D2',
  options: { scale: 0.5, causal: true }, made: '2026-11-30T00:00:00Z',
};
const table: TableOf = { name: 'S', rows: ['a,b', 'say "x"'], columns: ['p', 'q'], values: [[0.1 + 0.2, -Infinity], [1, 2.5]] };
const look: Look = { scale: 'diverging', most: 2, text: String };

describe('tables', () => {
  it('as CSV keep full precision, quote what needs it, and carry the provenance', () => {
    const lines = toCsv(table, from).split('\n');
    expect(lines).toContain('# problem: attention T3 D2');
    expect(lines).toContain('# options: {"scale":0.5,"causal":true}');
    expect(lines).toContain('"a,b",0.30000000000000004,-Infinity');
    expect(lines).toContain('"say ""x""",1,2.5');
  });

  it('as CSV hold texts too', () => {
    const shapes = { name: 'shapes', rows: ['Q'], columns: ['shape', 'heads'], values: [['[5, 2]', 2]] };
    expect(toCsv(shapes, from)).toContain('Q,"[5, 2]",2');
  });

  it('as JSON read back as the same numbers, with texts where JSON has none', () => {
    const read = JSON.parse(toJson(table, from));
    expect(read.values).toEqual([[0.30000000000000004, '-Infinity'], [1, 2.5]]);
    expect(read.provenance).toEqual(from);
  });

  it('have names that every file system takes', () => {
    expect(fileName('bank', 'q·k', 'csv')).toBe('qkv_bank_q_k.csv');
    expect(fileName('running', 'A₁ / "x"', 'svg')).toBe('qkv_running_A₁_x.svg');
  });
});

describe('a picture of a matrix', () => {
  it('is well formed whatever the tokens are, and needs nothing of the page', () => {
    const svg = tablePicture({ ...table, rows: ['<script>', '&'] }, from, look);
    expect(svg).toContain('&lt;script&gt;');
    expect(svg).not.toContain('<script>');
    expect(svg).toContain('&quot;engine&quot;');
    expect(svg).not.toMatch(/var\(|class=/);
  });

  it('hatches what is masked, marks what is beyond the scale, and shows the scale', () => {
    const plain = tablePicture(table, from, look);
    expect(plain).not.toContain('fill="url(#masked)"');
    const svg = tablePicture(table, from, { ...look, isMasked: (_, column) => column === 0 });
    expect(svg.match(/fill="url\(#masked\)"/g)).toHaveLength(2);
    expect(svg).toContain('>2.5▸<');
    expect(svg).toContain('id="scale"');
    expect(tablePicture(table, from, { most: 2, text: String })).not.toContain('id="scale"');
  });

  it('as a map leaves masked pixels clear and names what there is room for', () => {
    const look: Look = { scale: 'weights', most: 1, text: String, isMasked: (row) => row === 1 };
    const pixels = pixelsOf({ ...table, values: [[1, 0], [1, NaN]] }, look);
    expect([3, 7, 11, 15].map((alpha) => pixels[alpha])).toEqual([255, 255, 0, 0]);
    const names = Array.from({ length: 640 }, (_, at) => `t${at}`);
    const svg = mapPicture({ name: 'A', rows: names, columns: names, values: names.map(() => names.map(() => 0)) }, from, look, 'data:,');
    expect(svg).toContain('>t20<');
    expect(svg).not.toContain('>t1<');
    expect([1, 1.2, 3, 5, 18, 51].map(niceStep)).toEqual([1, 2, 5, 5, 20, 100]);
  });
});

describe('a text in a PNG', () => {
  it('stands whole and checked before the pixels', () => {
    expect(checksum(new TextEncoder().encode('IEND'))).toBe(0xae426082);
    const png = Uint8Array.from({ length: 50 }, (_, at) => at);
    const marked = withText(png, 'provenance', 'é');
    const view = new DataView(marked.buffer);
    const length = view.getUint32(33);
    expect(new TextDecoder().decode(marked.subarray(37, 41 + length))).toBe('iTXtprovenance\0\0\0\0\0é');
    expect(view.getUint32(41 + length)).toBe(checksum(marked.subarray(37, 41 + length)));
    expect(marked.subarray(45 + length)).toEqual(png.subarray(33));
  });
});
