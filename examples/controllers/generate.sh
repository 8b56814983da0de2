#!/bin/sh
# Compiles the controllers in C to WebAssembly. The modules are committed, so that nobody needs clang to try them; CI compiles again and
# compares. It needs clang 14 and lld.
set -eu
cd "$(dirname "$0")"
for source in *.c; do
	module=${source%.c}.wasm
	clang --target=wasm32 -O2 -nostdlib -Wall -Wextra -Werror -Wl,--no-entry,--stack-first,-z,stack-size=8192 -o "$module" "$source"
	chmod 644 "$module"
done
