#!/usr/bin/env bash
# Builds the pages into webui/dist, when what they are made of has changed since the last time.
# Without npm there is nothing to do but to say so: the master builds without its pages too.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v npm >/dev/null 2>&1; then
    echo "no npm here: det-master is built without its pages (Debian: apt-get install nodejs npm)" >&2
    exit 0
fi

lock="$(sha256sum package.json package-lock.json | sha256sum)"
if [ "$(cat node_modules/.detent 2>/dev/null)" != "$lock" ]; then
    echo "fetching what the pages are built with, once" >&2
    npm ci --no-audit --no-fund --loglevel=error >&2
    echo "$lock" >node_modules/.detent
fi

made_of="$(find index.html public src vite.config.ts tsconfig.json build.mjs package-lock.json -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum)"
if [ ! -f dist/index.html ] || [ "$(cat dist/.built 2>/dev/null)" != "$made_of" ]; then
    echo "building the pages into webui/dist" >&2
    node build.mjs >&2
    echo "$made_of" >dist/.built
fi
