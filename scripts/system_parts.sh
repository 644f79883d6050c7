#!/bin/sh
# Install the programs that some tests need and pip cannot bring. Where that is not allowed, those tests skip by name.
set -eu

if command -v soffice >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "LibreOffice is not installed and cannot be installed here: the tests that convert documents will be skipped." >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq || true
apt-get install -y -qq --no-install-recommends libreoffice-writer-nogui >/dev/null ||
    echo "LibreOffice could not be installed: the tests that convert documents will be skipped." >&2
