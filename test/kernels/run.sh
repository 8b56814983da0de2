#!/usr/bin/env bash
# Boots Debian's cloud kernels in qemu and runs the fabric's tests on each of them: see README.md.
#
#   test/kernels/run.sh [PACKAGE...]     packages as apt knows them; the default is the oldest kernel that pausenet
#                                        supports, which has no TCX, and the one after it, which has
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
packages=("$@")
if [ ${#packages[@]} -eq 0 ]; then
	packages=(linux-image-cloud-amd64 linux-image-6.12-cloud-amd64)
fi
cache=${PAUSENET_KERNELS:-${XDG_CACHE_HOME:-$HOME/.cache}/pausenet-kernels}
work=$(mktemp -d) # on disk: three binaries and two images
trap 'rm -rf "$work"' EXIT

# What the pipelines hang on: the devices, and for kernels without TCX the hook and the classifier.
# A test of live fabrics has a classifier and an action of its own, one has the metrics tell root from other users (sock_diag), some
# have images and overlays on nodes.
read -ra modules <<<"${PAUSENET_KERNELS_MODULES-veth tun sch_ingress cls_bpf cls_u32 act_mirred tcp_diag overlay}"

# What tests of live fabrics run in hosts.
programs=(ping ip tc sh bash cat getent ldd sleep setsid true chown chroot date grep gzip hostname ls mkdir mknod mount nice nsenter rm stat tar touch uname unshare)

need() {
	local missing=()
	for pair in qemu-system-x86_64:qemu-system-x86 cpio:cpio depmod:kmod xz:xz-utils ping:iputils-ping ip:iproute2; do
		PATH=$PATH:/usr/sbin:/sbin command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
	done
	if [ ${#missing[@]} -gt 0 ]; then
		echo "test-kernels needs: sudo apt-get install --no-install-recommends ${missing[*]}" >&2
		exit 3
	fi
}

# fetch PACKAGE: the folder with its kernel and modules. The meta-package leads to the kernel of the day.
fetch() {
	local image
	image=$(apt-cache depends --no-recommends --no-suggests "$1" 2>/dev/null | awk '/Depends: linux-image-/ { print $2; exit }')
	image=${image:-$1}
	local folder="$cache/$image"
	if [ ! -e "$folder/complete" ]; then
		rm -rf "$folder"
		mkdir -p "$folder"
		echo "fetching $image" >&2
		if ! (cd "$folder" && apt-get download "$image" >fetch.log 2>&1 && dpkg-deb -x ./*.deb .); then
			cat "$folder/fetch.log" >&2
			echo "test-kernels: apt offers no $image here: run apt-get update, or name another package" >&2
			exit 3
		fi
		rm -f "$folder"/*.deb
		touch "$folder/complete"
	fi
	echo "$folder"
}

# program IMAGE NAME: a program of this machine's and the libraries it is linked with.
program() {
	local path library
	path=$(PATH=$PATH:/usr/sbin:/sbin type -P "$2")
	cp -L "$path" "$1/bin/"
	while read -r library; do
		mkdir -p "$1$(dirname "$library")"
		cp -L "$library" "$1$library"
	done < <(ldd "$path" 2>/dev/null | grep -o '/[^ ]*')
}

# binaries: everything but the modules of the image, the same for all kernels.
binaries() {
	local image=$1
	mkdir -p "$image"/{bin,tests,dev,proc,sys,tmp,run,etc,var/tmp}
	cd "$root"
	export CGO_ENABLED=0
	go build -trimpath -o "$image/init" ./test/kernels/init
	go build -trimpath -o "$image/bin/pausenet" ./cmd/pausenet
	# What programs in live fabrics' hosts find.
	local wanted
	for wanted in "${programs[@]}"; do program "$image" "$wanted"; done
	touch "$image"/etc/{hosts,resolv.conf,host.conf,gai.conf}
	chmod 1777 "$image/var/tmp"
	printf '%s\n' 'root:x:0:0::/:/bin/sh' 'nobody:x:65534:65534::/:/bin/sh' >"$image/etc/passwd"
	# A test reads it where it lies beside the package.
	mkdir -p "$image/docs"
	cp -r docs/grafana "$image/docs/"
	mkdir -p "$image/mnt"
	local package name list="$image/tests/list"
	printf 'doctor\t/tmp\t/bin/pausenet doctor\n' >"$list"
	for package in ebpf orchestrator/{engine,kernel,kernel/doctor,wallclock} experiments/live orchestrator/pidns; do
		name=${package//\//-}
		go test -c -trimpath -o "$image/tests/$name.test" "./$package"
		mkdir -p "$image/tests/$name"
		[ ! -d "$package/testdata" ] || cp -r "$package/testdata" "$image/tests/$name/"
		printf '%s\t/tests/%s\t/tests/%s.test -test.short -test.timeout=%s %s\n' "$name" "$name" "$name" \
			"${PAUSENET_KERNELS_TIMEOUT:-30m}" "${PAUSENET_KERNELS_FLAGS:-}" >>"$list"
	done
	# The same scenario and seed must come to the same fingerprint on every kernel.
	cp "$here/incast.yaml" "$image/tests/"
	printf 'run\t/tmp\t/bin/pausenet run --plane kernel /tests/incast.yaml\n' >>"$list"
}

# image FOLDER OUT: the binaries and one kernel's modules as an initramfs.
image() {
	local folder=$1 out=$2 tree version number=0 path module
	tree=$(mktemp -d -p "$work")
	version=$(ls "$folder/lib/modules")
	cp -a "$work/image/." "$tree/"
	mkdir -p "$tree/modules"
	chmod 755 "$tree" # it becomes /, which other users than root must enter
	PATH=$PATH:/usr/sbin:/sbin depmod -b "$folder" "$version"
	for module in "${modules[@]}"; do
		# Each module after those it needs, once.
		while read -r _ path; do
			name=$(basename "$path")
			name=${name%%.*}
			if compgen -G "$tree/modules/*-$name.ko" >/dev/null; then continue; fi
			number=$((number + 1))
			local to
			to="$tree/modules/$(printf %02d $number)-$name.ko"
			case $path in
			*.xz) xz -dc "$path" >"$to" ;;
			*) cp "$path" "$to" ;;
			esac
		done < <(PATH=$PATH:/usr/sbin:/sbin modprobe -d "$folder" -S "$version" --show-depends "$module" | grep '^insmod')
	done
	(cd "$tree" && find . | cpio -o -H newc --quiet | gzip -1 >"$out")
	rm -rf "$tree"
}

boot() {
	local folder=$1 initramfs=$2 log=$3
	# /dev/kvm is not to be had everywhere: tcg runs on any machine, on one processor of it.
	timeout "${PAUSENET_KERNELS_LIMIT:-3600}" qemu-system-x86_64 -accel "${PAUSENET_KERNELS_ACCEL:-tcg}" -cpu max -smp 1 -m 2G \
		-nodefaults -no-user-config -display none -no-reboot -serial stdio -nic none \
		-kernel "$folder"/boot/vmlinuz-* -initrd "$initramfs" \
		-append "console=ttyS0 quiet panic=-1 rdinit=/init" </dev/null 2>&1 | tr -d '\r' | tee "$log"
}

need
binaries "$work/image"
failed=0
summary=()
for package in "${packages[@]}"; do
	folder=$(fetch "$package")
	version=$(ls "$folder/lib/modules")
	image "$folder" "$work/initramfs.gz"
	echo "== $version"
	begin=$SECONDS
	boot "$folder" "$work/initramfs.gz" "$work/log" || true
	while read -r line; do
		summary+=("${line%% *} $version ${line#* }")
		case $line in FAIL*) failed=1 ;; esac
	done < <(sed -n 's/^pausenet-kernels: \(PASS\|FAIL\) /\1 /p' "$work/log")
	if ! grep -q '^pausenet-kernels: done,' "$work/log"; then
		summary+=("FAIL $version the machine did not get to the end of the tests")
		failed=1
	fi
	print=$(sed -n 's/.*fingerprint  *\([0-9a-f][0-9a-f ]*\).*/\1/p' "$work/log" | tr '\n' ' ')
	summary+=("     $version took $((SECONDS - begin))s; fingerprint ${print:-none}")
	if [ -n "${first_print:=$print}" ] && [ "$first_print" != "$print" ]; then
		summary+=("FAIL $version the fingerprint differs from the first kernel's")
		failed=1
	fi
done
echo
printf '%s\n' "${summary[@]}"
exit $failed
