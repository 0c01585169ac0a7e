#!/bin/sh
# PostgreSQL's server programs, for the tests of the service: Debian's package where they are missing. Needs root or sudo.
set -e
if ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1; then
    exit 0
fi
as_root=""
[ "$(id -u)" = 0 ] || as_root=sudo
$as_root apt-get update
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql
