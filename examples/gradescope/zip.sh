#!/bin/sh
# Makes autograder.zip, to be uploaded to Gradescope, in the working directory: of this folder, of pausenet for Linux on x86-64, and of the
# folder that is given, if one is, as what students have not seen (hidden.yaml and its scenarios).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$here/setup.sh" "$here/run_autograder" "$folder"
[ $# -eq 0 ] || cp -R "$1" "$folder/hidden"
(cd "$here" && GOOS=linux GOARCH=amd64 go build -o "$folder/pausenet" ../../cmd/pausenet)
rm -f autograder.zip
zip=$PWD/autograder.zip
(cd "$folder" && zip -qr "$zip" .)
echo "autograder.zip: upload it as the autograder of a programming assignment"
