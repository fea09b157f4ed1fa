#!/bin/sh
# nginx for the tests of the federation: prints its path, after installing Debian's nginx-light where there is none.
set -eu
PATH=$PATH:/usr/sbin:/usr/local/sbin
found=$(command -v nginx || true)
if [ -z "$found" ]; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "no nginx: install Debian's package nginx-light" >&2
        exit 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get -o DPkg::Lock::Timeout=300 update -qq >&2
    apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends nginx-light >&2
    found=$(command -v nginx)
fi
echo "$found"
