// What is on the screen as a file, with where it came from.

export interface Provenance {
  readonly engine: string; // "qkv 0.1.0"
  readonly part: string;
  readonly address: string;
  readonly problem?: string;
  readonly made: string; // ISO 8601
}

export interface TableOf {
  readonly name: string;
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly values: readonly (readonly number[])[];
}

function quoted(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** RFC 4180, with the provenance as comment lines before it; numbers at full precision with a decimal point. */
export function toCsv(table: TableOf, from: Provenance): string {
  const head = Object.entries(from).map(([name, value]) => `# ${name}: ${value}`);
  const columns = [quoted(table.name), ...(table.values[0] ?? []).map((_, j) => quoted(table.columns[j] ?? String(j)))];
  const rows = table.values.map((row, i) => [quoted(table.rows[i] ?? String(i)), ...row.map(String)].join(','));
  return [...head, columns.join(','), ...rows, ''].join('\n');
}

const encoded = (value: number): number | string => (Number.isFinite(value) ? value : String(value));

/** Numbers at full precision; −∞ and NaN as the texts that the engine's documents use. */
export function toJson(table: TableOf, from: Provenance): string {
  const values = table.values.map((row) => row.map(encoded));
  return `${JSON.stringify({ provenance: from, ...table, values }, null, 1)}\n`;
}

/** A picture of a table as SVG: rectangles and numbers, nothing else. */
export function toSvg(table: TableOf, from: Provenance, colour: (value: number) => { fill: string; ink: string }): string {
  const [width, height, left, top] = [64, 30, 96, 46];
  const escape = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const rows = table.values.length;
  const columns = table.values[0]?.length ?? 0;
  const text = (x: number, y: number, anchor: string, fill: string, what: string) =>
    `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${fill}">${escape(what)}</text>`;
  const parts: string[] = [text(8, 20, 'start', '#1f1c19', table.name)];
  for (let j = 0; j < columns; ++j)
    parts.push(text(left + (j + 0.5) * width, top - 8, 'middle', '#6a635b', table.columns[j] ?? String(j)));
  for (let i = 0; i < rows; ++i) {
    const y = top + i * height;
    parts.push(text(left - 10, y + 20, 'end', '#6a635b', table.rows[i] ?? String(i)));
    (table.values[i] ?? []).forEach((value, j) => {
      const { fill, ink } = colour(value);
      const x = left + j * width;
      parts.push(`<rect x="${x}" y="${y}" width="${width - 2}" height="${height - 2}" fill="${fill}"/>`);
      parts.push(text(x + width / 2 - 1, y + 19, 'middle', ink, Number.isFinite(value) ? value.toFixed(3) : String(value)));
    });
  }
  const size = `viewBox="0 0 ${left + columns * width + 16} ${top + rows * height + 16}"`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="Inter, sans-serif" font-size="13">` +
    `<metadata>${escape(JSON.stringify(from))}</metadata><rect width="100%" height="100%" fill="#fff"/>${parts.join('')}</svg>\n`
  );
}
