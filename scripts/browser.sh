#!/bin/sh
# A browser for the tests of the report: prints its path, after installing Debian's chromium where there is none.
set -eu
found=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$found" ]; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "no browser: install Debian's package chromium" >&2
        exit 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2
    apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >&2
    found=$(command -v chromium)
fi
echo "$found"
