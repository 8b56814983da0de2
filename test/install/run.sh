#!/usr/bin/env bash
# Shows that a program that was installed finds its libraries for RDMA programs: a host of a live fabric has a device.
#
#   sudo test/install/run.sh PROGRAM
set -euo pipefail
program=$1 name=installed-$$
"$program" up small --slowdown 1000 --name "$name" --detach
trap '"$program" down "$name" || true' EXIT
devices=$("$program" exec --fabric "$name" h1 -- ibv_devices)
echo "$devices"
[[ $devices == *pausenet0* ]]
