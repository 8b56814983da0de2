#!/usr/bin/env bash
# Shows that the static program needs nothing but itself: in a root that holds it alone, as a user without any right, run, rerun, sweep and report
# work; in the image's root they do too, and as root a live fabric comes up with the capabilities that docs/install.md states, and no others.
#
# Both roots have /proc, as any machine and any container has: a sweep starts the program again by it.
#
#   sudo test/static/run.sh PROGRAM IMAGE
set -euo pipefail
# Mounts of its own, which end with it.
if [ "${STATIC_MOUNTS:-}" = "" ]; then
	STATIC_MOUNTS=own exec unshare --mount -- "$0" "$@"
fi
program=$1 image=$2
top=$(mktemp -d)
trap 'umount "$top/root/proc" 2>/dev/null || true; rm -rf --one-file-system "$top"' EXIT

# used USER COMMAND...: pausenet in the root at $top/root.
used() {
	local user=$1
	shift
	echo "+ pausenet $*"
	env -i HOME=/ /usr/bin/setpriv --no-new-privs /usr/sbin/chroot --userspec="$user" "$top/root" /bin/pausenet "$@"
}

all() {
	used 65532:65532 version
	used 65532:65532 run incast --out /work/results
	used 65532:65532 rerun /work/results/incast
	used 65532:65532 sweep incast --set flows.0.size=100KB,200KB --cc dcqcn --out /work/sweep
	used 65532:65532 report /work/results/incast --figures
	test -s "$top/root/work/results/incast/report.html"
	test -s "$top/root/work/sweep/sweep.html"
	ls "$top/root/work/results/incast/figures"/*.pdf >/dev/null
}

echo "== a root with the program alone"
mkdir -p "$top/root/bin" "$top/root/work" "$top/root/tmp" "$top/root/proc"
mount -t proc proc "$top/root/proc"
cp "$program" "$top/root/bin/pausenet"
chown 65532:65532 "$top/root/work" "$top/root/tmp"
all
umount "$top/root/proc"
rm -rf --one-file-system "$top/root"

echo "== the image's root"
cp -a "$image" "$top/root"
mkdir -p "$top/root/proc"
mount -t proc proc "$top/root/proc"
chown 65532:65532 "$top/root/work"
all
echo "== all of it works"
