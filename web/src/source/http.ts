// The engine behind `qkv explore`, on the machine that serves the page.
import { EngineError, type Json, type Opened, type Source } from './source';

interface Failure {
  readonly error?: { readonly message?: string };
}

async function messageOf(response: Response): Promise<string> {
  const fallback = `the engine answered ${response.status} ${response.statusText}`;
  try {
    return ((await response.json()) as Failure).error?.message ?? fallback;
  } catch {
    return fallback;
  }
}

async function fetched(path: string, init: RequestInit): Promise<Json> {
  let response: Response;
  try {
    response = await fetch(path, { ...init, cache: 'no-store' });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new EngineError('the engine does not answer; is `qkv explore` still running?');
  }
  if (!response.ok) throw new EngineError(await messageOf(response));
  return (await response.json()) as Json;
}

export function httpSource(): Source {
  return {
    kind: 'http',
    ask(request, signal) {
      const headers = { 'Content-Type': 'application/json' };
      return fetched('./api/explain', { method: 'POST', headers, body: JSON.stringify(request), signal: signal ?? null });
    },
    async opened() {
      return (await fetched('./api/opened', {})) as Opened | null;
    },
  };
}
