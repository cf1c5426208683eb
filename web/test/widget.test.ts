// What the panel in a notebook hears from its kernel and sees of the notebook around it.
import { describe, expect, it } from 'vitest';
import { follow, type Model } from '../src/widget/answer';
import { themeOf } from '../src/widget/host_theme';

/** A model as anywidget gives one, whose kernel is the test. */
function modelOf(traits: Record<string, unknown>) {
  const heard = new Map<string, Set<() => void>>();
  const saved: Record<string, unknown>[] = [];
  const model: Model = {
    get: (name) => traits[name],
    set: (name, value) => {
      traits[name] = value;
      for (const call of heard.get(`change:${name}`) ?? []) call();
    },
    save_changes: () => saved.push({ ...traits }),
    on: (event, call) => void heard.set(event, (heard.get(event) ?? new Set()).add(call)),
    off: (event, call) => void heard.get(event)?.delete(call),
  };
  return { model, saved, listeners: () => [...heard.values()].reduce((sum, calls) => sum + calls.size, 0) };
}

const answer = (batch: number, head: number) => JSON.stringify({ batch, head, error: 'none' });
const traits = () => ({ answer: answer(0, 0), batch: 0, head: 0, batches: 2, heads: 4 });

describe('a panel', () => {
  it('asks the kernel for another head and waits until its answer is there', () => {
    const { model, saved } = modelOf(traits());
    const asked = follow(model);
    expect(asked.counts).toEqual({ batch: 2, head: 4 });
    expect(asked.isWaiting.value).toBe(false);
    asked.ask('head', 3);
    expect(saved).toMatchObject([{ batch: 0, head: 3 }]);
    expect(asked.place.value).toEqual({ batch: 0, head: 3 });
    expect(asked.isWaiting.value).toBe(true);
    model.set('answer', answer(0, 1)); // of a head that was passed on the way
    expect(asked.isWaiting.value).toBe(true);
    model.set('answer', answer(0, 3));
    expect(asked.isWaiting.value).toBe(false);
  });

  it('moves with another view of the same model', () => {
    const { model } = modelOf(traits());
    const [one, other] = [follow(model), follow(model)];
    one.ask('batch', 1);
    expect(other.place.value.batch).toBe(1);
  });

  it('hears nothing any more when its view is taken away', () => {
    const { model, listeners } = modelOf(traits());
    const asked = follow(model);
    expect(listeners()).toBe(3);
    asked.end();
    expect(listeners()).toBe(0);
  });
});

describe('the notebook around it', () => {
  const page = (body: { classes?: string[]; jupyter?: string }, root: { classes?: string[]; theme?: string } = {}) =>
    ({
      body: { dataset: body.jupyter === undefined ? {} : { jpThemeLight: body.jupyter }, classList: body.classes ?? [] },
      documentElement: { classList: root.classes ?? [], getAttribute: () => root.theme ?? null },
    }) as unknown as Document;

  it.each([
    ['JupyterLab, light', page({ jupyter: 'true' }), 'light'],
    ['JupyterLab, dark', page({ jupyter: 'false' }), 'dark'],
    ['VS Code, dark', page({ classes: ['vscode-body', 'vscode-dark'] }), 'dark'],
    ['VS Code, high contrast', page({ classes: ['vscode-high-contrast'] }), 'dark'],
    ['VS Code, light', page({ classes: ['vscode-light'] }), 'light'],
    ['marimo, dark', page({ classes: ['dark'] }), 'dark'],
    ['Colab, dark', page({}, { theme: 'dark' }), 'dark'],
    ['a page that says nothing', page({}), null],
  ])('says its theme: %s', (_, around, theme) => {
    expect(themeOf(around)).toBe(theme);
  });
});
