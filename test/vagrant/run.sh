#!/usr/bin/env bash
# Runs the Vagrantfile's provisioning in a Debian root that debootstrap makes, then what the Vagrantfile says one can do there: all of it but
# the box and its kernel, and but the whole of the tests.
#
#   sudo test/vagrant/run.sh [SUITE]     the default is trixie, whose Go is older than go.mod's as Ubuntu 24.04's is
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
suite=${1:-trixie}

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
	echo "test-vagrant needs root, and: sudo apt-get install --no-install-recommends debootstrap" >&2
	exit 3
fi
if [ -z "${PAUSENET_TEST_VAGRANT:-}" ]; then
	# Mounts and processes that end with this.
	PAUSENET_TEST_VAGRANT=1 exec unshare --mount --pid --fork --kill-child --propagation private "$0" "$@"
fi

work=$(mktemp -d)
trap 'umount -lR "$work"; rmdir "$work"' EXIT
mount -t tmpfs -o size=6G debian "$work" # a mount point, without which a root has no live fabrics
debootstrap --variant=minbase "$suite" "$work" >/dev/null
# Certificates that this machine trusts beside Debian's.
mkdir -p "$work/usr/local/share/ca-certificates"
cp -r /usr/local/share/ca-certificates/. "$work/usr/local/share/ca-certificates/"
for file in resolv.conf hosts; do cp -L "/etc/$file" "$work/etc/"; done
mount -t proc proc "$work/proc"
mount -t sysfs sysfs "$work/sys"
mount --rbind /dev "$work/dev"

# What a box has: the user, who may sudo, and the working tree.
home=$work/home/vagrant
chroot "$work" useradd --create-home --shell /bin/bash vagrant
mkdir -p "$work/etc/sudoers.d" "$home/pausenet"
echo 'vagrant ALL=(ALL) NOPASSWD: ALL' >"$work/etc/sudoers.d/vagrant"
git -C "$root" ls-files -z --cached --others --exclude-standard | (cd "$root" && xargs -0 tar c) | tar x -C "$home/pausenet"
chroot "$work" chown -R vagrant: /home/vagrant/pausenet

inside() { env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot "$work" "$@"; }

echo "== provision"
sed -n "/<<~'SHELL'\$/,/^ *SHELL\$/p" "$root/Vagrantfile" | sed '1d;$d' >"$work/provision"
inside bash /provision >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
tail -n 1 "$work/log"

for line in 'make build' 'sudo bin/pausenet doctor' 'sudo bin/pausenet run dcon-burst --plane kernel' \
	'CI=1 go test -count=1 ./internal/capture' \
	'CI=1 go test -count=1 -exec sudo ./orchestrator/pidns' \
	"CI=1 go test -count=1 -exec sudo ./experiments/live -run 'TestNode|TestChroot|TestScapy|TestTCPDump|TestWeb|TestNames|TestTop'"; do
	echo "== $line"
	inside su - vagrant -c "$line" # a login shell, as vagrant ssh has: it begins in the working tree
done
