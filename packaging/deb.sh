#!/bin/sh
# Makes a Debian package of a static binary: deb.sh BINARY VERSION TARGET FOLDER
set -eu
binary=$1 version=$2 target=$3 out=$4

case $target in
    x86_64-*) architecture=amd64 ;;
    aarch64-*) architecture=arm64 ;;
    *) echo "deb.sh: no name of Debian for $target" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")/.." && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
umask 022
chmod 755 "$root"

install -D -m 755 "$binary" "$root/usr/bin/docsphere"
# Made by the binary itself, so a package can only be made where it runs.
"$binary" man "$root/usr/share/man/man1"
gzip -9 -n "$root"/usr/share/man/man1/*.1
complete() {
    mkdir -p "$root/$2"
    "$binary" completions "$1" > "$root/$2/$3"
}
complete bash usr/share/bash-completion/completions docsphere
complete zsh usr/share/zsh/vendor-completions _docsphere
complete fish usr/share/fish/vendor_completions.d docsphere.fish

doc=$root/usr/share/doc/docsphere
mkdir -p "$doc"
cp "$here/README.md" "$doc/README.md"
gzip -9 -n -c "$here/CHANGELOG.md" > "$doc/changelog.gz"
{
    echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
    echo "Upstream-Name: docsphere"
    echo
    echo "Files: *"
    echo "Copyright: the authors of docsphere"
    echo "License: MIT or Apache-2.0"
    echo
    echo "License: MIT"
    sed -e 's/^$/./' -e 's/^/ /' "$here/LICENSE-MIT"
    echo
    echo "License: Apache-2.0"
    echo " See /usr/share/common-licenses/Apache-2.0."
} > "$doc/copyright"

size=$(du -sk "$root/usr" | cut -f1)
mkdir "$root/DEBIAN"
cat > "$root/DEBIAN/control" <<CONTROL
Package: docsphere
Version: $version-1
Architecture: $architecture
Maintainer: The authors of docsphere <docsphere@localhost>
Installed-Size: $size
Section: science
Priority: optional
Description: cluster documents by topic
 docsphere turns a pile of texts into named clusters: it reads lines, JSON,
 CSV, Parquet, mail, office documents and folders of files, and groups them
 with exact spherical k-means. Its report is one page that works offline.
CONTROL
mkdir -p "$out"
dpkg-deb --build --root-owner-group "$root" "$out/docsphere_$version-1_$architecture.deb" > /dev/null
