#!/bin/sh
# Install the programs that some tests need and pip cannot bring. Where that is not allowed, those tests skip by name.
set -eu

updated=

# part PROGRAM PACKAGE NAME TESTS: each by itself, so that one that cannot be had does not keep the others out.
part() {
    if command -v "$1" >/dev/null 2>&1; then
        return 0
    fi
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        echo "$3 is not installed and cannot be installed here: the tests that $4 will be skipped." >&2
        return 0
    fi
    if [ -z "$updated" ]; then
        apt-get update -qq || true
        updated=yes
    fi
    apt-get install -y -qq --no-install-recommends "$2" >/dev/null ||
        echo "$3 could not be installed: the tests that $4 will be skipped." >&2
}

export DEBIAN_FRONTEND=noninteractive
part chromium chromium Chromium "open the web page"
part pgbouncer pgbouncer PgBouncer "ask PostgreSQL through a pooler"
part soffice libreoffice-writer-nogui LibreOffice "convert documents"
