#!/usr/bin/env python3
"""Makes a folder of `vite build` a site that works offline: security policy, web manifest, service worker.

Usage: scripts/finish_site.py FOLDER
"""

import hashlib
import json
import sys
from pathlib import Path

# Without frame-ancestors, which a <meta> cannot say: a page may embed the site (`embed=1`).
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'"
)
MANIFEST = {
    "name": "qkv: attention, by hand",
    "short_name": "qkv",
    "description": "A lesson in nine parts, computed live and offline",
    "start_url": "./",
    "scope": "./",
    "display": "standalone",
    "background_color": "#fbf9f5",
    "theme_color": "#fbf9f5",
    "icons": [
        {"src": "icon.svg", "sizes": "any", "type": "image/svg+xml", "purpose": "any"},
        {"src": "icon-192.png", "sizes": "192x192", "type": "image/png", "purpose": "any"},
        {"src": "icon-512.png", "sizes": "512x512", "type": "image/png", "purpose": "any"},
        {"src": "icon-maskable-512.png", "sizes": "512x512", "type": "image/png", "purpose": "maskable"},
    ],
}
REGISTER = "if ('serviceWorker' in navigator) navigator.serviceWorker.register('./service_worker.js');\n"
# The cache is named after what it holds, so a new version never mixes files with an old one.
WORKER = """// Keeps every file of the site, so that it works with the network cut. Written by scripts/finish_site.py.
const CACHE = %s;
const FILES = %s;

self.addEventListener('install', (event) => {
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll(FILES.map((file) => new Request(file, { cache: 'reload' }))))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener('activate', (event) => {
  const old = (name) => name.startsWith('qkv-') && name !== CACHE;
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter(old).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener('fetch', (event) => {
  if (event.request.method !== 'GET' || new URL(event.request.url).origin !== self.location.origin) return;
  const kept = caches.open(CACHE).then((cache) => cache.match(event.request, { ignoreSearch: true }));
  event.respondWith(kept.then((answer) => answer ?? fetch(event.request)));
});
"""


def with_head(page):
    """The page with its policy first, and what registers the worker."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}" />'
    manifest = '<link rel="manifest" href="./manifest.webmanifest" />'
    head = f'<head>\n    <meta charset="utf-8" />\n    {policy}\n    {manifest}'
    page = page.replace('<meta charset="utf-8" />', "", 1).replace("<head>", head, 1)
    return page.replace("</head>", '  <script src="./register.js" defer></script>\n  </head>', 1)


def main():
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "index.html").is_file():
        sys.exit("usage: scripts/finish_site.py FOLDER   (a folder with index.html, as `vite build` makes it)")
    site = Path(sys.argv[1])
    index = site / "index.html"
    index.write_text(with_head(index.read_text(encoding="utf-8")), encoding="utf-8")
    (site / "manifest.webmanifest").write_text(json.dumps(MANIFEST, indent=2) + "\n", encoding="utf-8")
    (site / "register.js").write_text(REGISTER, encoding="utf-8")
    worker = site / "service_worker.js"
    worker.unlink(missing_ok=True)
    files = sorted(path for path in site.rglob("*") if path.is_file())
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.relative_to(site).as_posix().encode() + b"\0" + path.read_bytes())
    names = ["./"] + ["./" + path.relative_to(site).as_posix() for path in files]
    version = json.dumps("qkv-" + digest.hexdigest()[:16])
    worker.write_text(WORKER % (version, json.dumps(names, indent=2)), encoding="utf-8")


if __name__ == "__main__":
    main()
