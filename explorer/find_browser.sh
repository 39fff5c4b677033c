#!/bin/sh
# Prints the path of a Chromium or Chrome. DOCSPHERE_BROWSER names one; else the usual places are
# tried; else Debian's package is installed, or the build that playwright-core was made for, where
# that is possible.
set -eu

if [ -n "${DOCSPHERE_BROWSER:-}" ]; then
    command -v "$DOCSPHERE_BROWSER" && exit 0
    echo "DOCSPHERE_BROWSER=$DOCSPHERE_BROWSER is no program that can be run" >&2
    exit 1
fi

find_one() {
    for name in chromium chromium-browser google-chrome google-chrome-stable \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
        command -v "$name" && return 0
    done
    return 1
}

find_one && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    echo "installing the package chromium, to test the page in a browser" >&2
    { apt-get update --quiet --quiet && apt-get install --yes --quiet --quiet --no-install-recommends chromium; } > /dev/null 2>&1 || true
fi
find_one && exit 0
# Where no package can be installed: the browser that playwright-core was made for.
cd "$(dirname "$0")"
npx --no-install playwright-core install --no-shell chromium >&2 || true
downloaded=$(node -e 'console.log(require("playwright-core").chromium.executablePath())' || true)
[ -x "$downloaded" ] && echo "$downloaded" && exit 0
echo "THE PAGE CANNOT BE TESTED: there is no Chromium or Chrome. Install one (Debian: apt-get install chromium), or name one: DOCSPHERE_BROWSER=/path/to/chrome make explorer" >&2
exit 1
