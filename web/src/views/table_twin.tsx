// The table twin of a picture: the same numbers, for those who read or listen instead.
import { useState } from 'preact/hooks';
import { formatShort } from '../model/number';
import { language } from '../model/view_state';
import { t } from '../messages';

interface TableTwinProps {
  readonly label: string;
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly values: readonly (readonly number[])[];
}

export function TableTwin({ label, rows, columns, values }: TableTwinProps) {
  // The cells of a closed table would be made anew at every step of a slider.
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="twin" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t.value.shell.asTable(label)}</summary>
      {isOpen && <div class="twin-scroll" tabIndex={0} role="region" aria-label={label}>
        <table>
          <thead>
            <tr>
              <td />
              {columns.map((name, column) => (
                <th key={column} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {values.map((row, index) => (
              <tr key={index}>
                <th scope="row">{rows[index]}</th>
                {row.map((value, column) => (
                  <td key={column}>{formatShort(value, language.value, 4)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>}
    </details>
  );
}
