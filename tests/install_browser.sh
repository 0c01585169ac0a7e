#!/bin/sh
# A browser for the test that looks at the report, where the system's packages can give one. Without it that test says so.
set -u
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
fi
exit 0
