// Whether the notebook around the panel is light or dark; each kind of notebook says it in its own way.

export type Theme = 'light' | 'dark';

/** JupyterLab and Notebook, VS Code, marimo, Colab; null where none of them says so. */
export function themeOf(page: Document): Theme | null {
  const { body, documentElement } = page;
  const jupyter = body.dataset['jpThemeLight'];
  if (jupyter !== undefined) return jupyter === 'false' ? 'dark' : 'light';
  const classes = [...body.classList, ...documentElement.classList];
  if (classes.some((name) => ['vscode-dark', 'vscode-high-contrast', 'dark', 'dark-theme'].includes(name))) return 'dark';
  if (classes.some((name) => ['vscode-light', 'light', 'light-theme'].includes(name))) return 'light';
  const colab = documentElement.getAttribute('theme');
  return colab === 'dark' || colab === 'light' ? colab : null;
}

/** Calls `change` with the theme now and whenever it is another one; what it returns ends that. */
export function followTheme(page: Document, change: (theme: Theme | null) => void): () => void {
  const tell = () => change(themeOf(page));
  const watcher = new MutationObserver(tell);
  for (const root of [page.body, page.documentElement]) watcher.observe(root, { attributes: true });
  tell();
  return () => watcher.disconnect();
}
