#!/usr/bin/env bash
# Puts the libraries for RDMA programs into a folder, for a package for Linux on a machine as Go calls it. Where no C compiler makes programs for
# that machine, or the headers are missing, the folder has a README that says so instead.
#
#   verbs/package.sh FOLDER ARCH
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1 arch=$2
rm -rf "$folder"
mkdir -p "$folder"
# The machine's own compiler, or Debian's package gcc-TRIPLET.
case $arch in
"$(go env GOHOSTARCH)") compiler=${CC:-cc} ;;
amd64) compiler=x86_64-linux-gnu-gcc ;;
arm64) compiler=aarch64-linux-gnu-gcc ;;
*) compiler=$arch-linux-gnu-gcc ;;
esac
if why=$(printf '#include <infiniband/verbs.h>\n#include <rdma/rdma_cma.h>\n' | "$compiler" -E - 2>&1 >/dev/null); then
	make --no-print-directory verbs VERBS="$folder" CC="$compiler"
	exit
fi
echo "the package for $arch goes without the libraries for RDMA programs: ${why##*$'\n'}"
cat >"$folder/README" <<END
The libraries for RDMA programs on hosts of live fabrics are not here: where this was built there was no C compiler for $arch, or no libibverbs-dev and
librdmacm-dev. make verbs builds them in a clone, beside the program there (docs/verbs.md).
END
