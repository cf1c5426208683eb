// Saves a matrix or a chart as SVG, PNG, CSV or JSON, each with where it came from.
import { colourOf, inkOn, largestSize, type Scale } from '../model/colour';
import { toCsv, toJson, toSvg, type Provenance, type TableOf } from '../model/export';
import { addressNow } from '../model/state';
import { t } from '../messages';

interface ExportMenuProps {
  readonly part: string;
  readonly table: TableOf;
  readonly engine: string; // the document's `qkv`
  readonly problem?: string;
  readonly scale?: Scale;
  readonly most?: number;
  /** A picture of its own instead of the table's: the text of an SVG. */
  readonly picture?: () => string;
}

function save(name: string, content: Blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const PNG_SCALE = 2;

async function toPng(svg: string): Promise<Blob> {
  const [, width = 600, height = 400] = /viewBox="\S+ \S+ (\S+) (\S+)"/.exec(svg)?.map(Number) ?? [];
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg.replace('<svg ', `<svg width="${width}" height="${height}" `)], { type: 'image/svg+xml' }));
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = width * PNG_SCALE;
  canvas.height = height * PNG_SCALE;
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('no PNG could be made'))), 'image/png'),
  );
}

export function ExportMenu({ part, table, engine, problem, scale, most, picture }: ExportMenuProps) {
  const from = (): Provenance => ({
    engine: `qkv ${engine}`,
    part,
    address: addressNow(),
    ...(problem === undefined ? {} : { problem }),
    made: new Date().toISOString(),
  });
  const strongest = most ?? (scale === 'weights' ? 1 : largestSize(table.values));
  const colour = (value: number) => {
    const fill = scale ? colourOf(value, scale, strongest) : '#fff';
    return { fill: fill === 'transparent' ? '#ddd6cb' : fill, ink: inkOn(fill) };
  };
  const svg = () => picture?.() ?? toSvg(table, from(), colour);
  const name = `qkv_${part}_${table.name.replace(/[^\p{L}\p{N}]+/gu, '_')}`;
  const formats: readonly [string, () => void | Promise<void>][] = [
    ['SVG', () => save(`${name}.svg`, new Blob([svg()], { type: 'image/svg+xml' }))],
    ['PNG', async () => save(`${name}.png`, await toPng(svg()))],
    ['CSV', () => save(`${name}.csv`, new Blob([toCsv(table, from())], { type: 'text/csv' }))],
    ['JSON', () => save(`${name}.json`, new Blob([toJson(table, from())], { type: 'application/json' }))],
  ];
  return (
    <span class="export" role="group" aria-label={t.value.shell.exportOf(table.name)}>
      <span aria-hidden="true">{t.value.shell.export} {table.name}</span>
      {formats.map(([format, run]) => (
        <button key={format} type="button" class="quiet" onClick={() => void run()}>
          {format}
        </button>
      ))}
    </span>
  );
}
