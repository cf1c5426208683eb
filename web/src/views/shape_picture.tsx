// A matrix as a rectangle, its sides by the logarithm of its last two sizes.
import type { Shape } from '../model/shape_text';

const UNIT = 5; // pixels for each doubling

export function ShapePicture({ shape, identity }: { readonly shape: Shape; readonly identity: string }) {
  const side = (size: number) => 3 + UNIT * Math.log2(Math.max(1, size));
  const [rows = 1, columns = 1] = shape.slice(-2);
  const [width, height] = [side(columns), side(shape.length > 1 ? rows : 1)];
  return (
    <svg class={`shape-picture is-${identity}`} width={width + 2} height={height + 2} aria-hidden="true">
      <rect x={1} y={1} width={width} height={height} />
    </svg>
  );
}
