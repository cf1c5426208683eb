// What the build puts in.
declare const __SOURCE__: 'http' | 'wasm';
