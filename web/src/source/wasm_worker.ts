// Runs the engine's WebAssembly beside the page, so that a long computation never holds the page up.
import { Instance } from '../../package/src/instance';

/** From the page. */
export interface Question {
  readonly id: number;
  readonly text: string;
}

/** To the page: the document's text, or what was wrong. */
export interface Answer {
  readonly id: number;
  readonly isError: boolean;
  readonly text: string;
}

async function fetchModule(): Promise<Response> {
  const advice = 'check the connection and reload the page';
  const place = new URL('./explain.wasm', self.location.href.replace(/assets\/[^/]*$/, ''));
  const response = await fetch(place).catch(() => null);
  if (response === null) throw new Error(`the engine, explain.wasm, could not be loaded; ${advice}`);
  if (!response.ok) throw new Error(`the engine, explain.wasm, could not be loaded (${response.status}); ${advice}`);
  return response;
}

async function load(): Promise<Instance> {
  const response = await fetchModule();
  const bytes = await response.arrayBuffer(); // not streaming: some hosts serve .wasm without its type
  return new Instance(await WebAssembly.compile(bytes));
}

const engine = load();

self.addEventListener('message', async (event: MessageEvent<Question>) => {
  const { id, text } = event.data;
  let answer: { isError: boolean; text: string };
  try {
    answer = { isError: false, text: (await engine).run((call) => call.ask('qkv_explain', text)) };
  } catch (error) {
    answer = { isError: true, text: error instanceof Error ? error.message : String(error) };
  }
  self.postMessage({ id, ...answer } satisfies Answer);
});
