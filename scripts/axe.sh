#!/bin/sh
# The accessibility checker axe-core, from npm by name, kept in .cache: prints the path of its one file.
set -eu
version=4.14.0
place=$(cd "$(dirname "$0")/.." && pwd)/.cache/axe-core-$version
if [ ! -f "$place/package/axe.min.js" ]; then
    fresh=$place.$$
    mkdir -p "$fresh"
    (cd "$fresh" && npm pack --silent "axe-core@$version" >/dev/null && tar xzf axe-core-*.tgz)
    mv "$fresh" "$place" 2>/dev/null || rm -r "$fresh"
fi
echo "$place/package/axe.min.js"
