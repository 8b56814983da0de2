#!/usr/bin/env bash
# Builds the public simulators that cases.yaml names, from checkouts of their repositories at its commits:
#
#   build.sh CHECKOUTS PROGRAMS
#
# CHECKOUTS has the folders uet-htsim, csg-htsim, High-Precision-Congestion-Control and ns3-datacenter. The checkouts stay as they
# are: copies are patched and built. Needs g++ (12 was used) and make. What is changed is below, and changes nothing that the
# simulators do: counters that htsim prints as it exits, for ns-3 a build without waf or CMake, and for ns3-datacenter a meter, and
# zeros in variables that it reads before it sets them, and RATE_AI in place of the 150 Mbps that PowerTCP adds.
set -euo pipefail
checkouts=$(realpath "$1")
mkdir -p "$2"
programs=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
jobs=$(nproc)

# counters FILE NAME...: declares counters in a source file of htsim, which it prints at exit as "GSTAT NAME N ...".
counters() {
	local file=$1 declare="" format="GSTAT" names=""
	shift
	for name in "$@"; do
		declare+="long $name = 0; " format+=" $name %ld" names+=", $name"
	done
	local last
	last=$(grep -n '^#include' "$file" | tail -n 1 | cut -d: -f1)
	sed -i "${last}a #include <cstdio>\nnamespace { struct Counts { $declare~Counts() { printf(\"$format\\\\n\"$names); } } counts; }" "$file"
}

# composite FILE: counts marks, trims and drops of htsim's queue that trims.
composite() {
	counters "$1" marks trims drops
	sed -i -e 's/^ *pkt->set_flags(.*ECN_CE);/& counts.marks++;/' -e 's/_num_stripped++;/& counts.trims++;/' \
		-e 's/_num_drops++;/& counts.drops++;/' "$1"
}

# compile FLAGS FILE...: compiles each file to an object of its name in the folder objects.
compile() {
	local flags=$1
	shift
	mkdir -p objects
	printf '%s\n' "$@" | xargs -P "$jobs" -I{} sh -c 'g++ '"$flags"' -w -c -o objects/"$(echo "{}" | tr / _)".o "{}"'
}

cp -r "$checkouts/uet-htsim/htsim/sim" "$work/uet"
cd "$work/uet"
composite compositequeue.cpp
# shellcheck disable=SC2046
compile "-std=c++17 -O2 -I. -Idatacenter" $(sed -n '/^set(SOURCE_FILES/,/^)/p' CMakeLists.txt | grep '\.cpp') \
	$(sed -n '/^set(LIB_SOURCES/,/^)/p' datacenter/CMakeLists.txt | grep -o '[a-z0-9_]*\.cpp' | sed 's|^|datacenter/|') datacenter/main_uec.cpp
g++ -o "$programs/htsim_uec" objects/*.o

cp -r "$checkouts/csg-htsim/sim" "$work/csg"
cd "$work/csg"
composite compositequeue.cpp
counters queue_lossless_input.cpp pauses
sed -i 's/sendPause(1000);/& counts.pauses++;/' queue_lossless_input.cpp
make -j"$jobs" libhtsim.a CFLAGS='-std=c++11 -O2 -w -fPIE'
for program in roce hpcc ndp swift; do
	make -j"$jobs" -C datacenter "htsim_$program" CFLAGS='-std=c++11 -O2 -w'
	cp "datacenter/htsim_$program" "$programs"
done

# The modules' sources as their wscripts list them, less what needs other libraries (NSC, cairo), Windows, or module stats (v4ping).
source=$checkouts/High-Precision-Congestion-Control/simulation
mkdir -p "$work/ns3/include/ns3"
cd "$work/ns3"
files=()
for module in core network bridge mpi internet point-to-point applications config-store tools stats; do
	find "$source/src/$module" -name '*.h' ! -path '*/test/*' ! -path '*/examples/*' -exec ln -sf {} include/ns3/ \;
done
for module in core network bridge mpi internet point-to-point applications; do
	script=$source/src/$module/wscript
	sed -n '/headers.source\|headers = /,$p' "$script" | grep -o "'[a-z0-9/-]*/[A-Za-z0-9-]*\.h'" | tr -d "'" |
		sed 's|.*/|#include "ns3/|; s|$|"|' | sort -u >"include/ns3/$module-module.h" || true
	for file in $(grep -o "'[a-z]*/[A-Za-z0-9-]*\.cc'" "$script" | tr -d "'" |
		grep -v '^test/\|win32\|cairo\|realtime\|wall-clock-sync\|nsc-\|v4ping' | sort -u); do
		[ ! -f "$source/src/$module/$file" ] || files+=("$source/src/$module/$file")
	done
done
for feature in HAVE_STDINT_H HAVE_INTTYPES_H HAVE_SYS_TYPES_H HAVE_SYS_STAT_H HAVE_DIRENT_H HAVE_STDLIB_H HAVE_GETENV HAVE_SIGNAL_H \
	HAVE_PTHREAD_H INT64X64_USE_128 HAVE___UINT128_T; do
	echo "#define $feature 1"
done >include/ns3/core-config.h
compile "-std=c++11 -O1 -fpermissive -Iinclude" "${files[@]}" "$source/scratch/third.cc"
g++ -o "$programs/hpcc_ns3" objects/*.o -lpthread

# Modules likewise: all sources, less what needs other systems or libraries. Of mpi only the headers are needed.
mkdir -p "$work/power/include/ns3"
cd "$checkouts/ns3-datacenter/simulator/ns-3.39"
cp -r --parents src/{core,network,bridge,stats,traffic-control,internet,point-to-point,applications,mpi} examples/PowerTCP "$work/power"
cd "$work/power"
find "$PWD/src" -name '*.h' ! -path '*/test/*' ! -path '*/examples/*' -exec ln -sf {} include/ns3/ \;
for module in core internet applications; do
	find "src/$module/"{model,helper} -name '*.h' | grep -v 'win32\|cairo\|realtime\|wall-clock\|valgrind\|int64x64-double' |
		sed 's|.*/|#include "ns3/|; s|$|"|' >"include/ns3/$module-module.h"
done
for feature in HAVE_STDINT_H HAVE_INTTYPES_H HAVE_SYS_TYPES_H HAVE_SYS_STAT_H HAVE_DIRENT_H HAVE_STDLIB_H HAVE_GETENV HAVE_SIGNAL_H \
	INT64X64_USE_128 HAVE___UINT128_T; do
	echo "#define $feature 1"
done >include/ns3/core-config.h
# The meter: how many ACKs had which RTT, in ns, and the payload that each host's flow delivered in each 10 us.
hw=src/point-to-point/model/rdma-hw.cc
last=$(grep -n '^#include' "$hw" | tail -n 1 | cut -d: -f1)
sed -i "${last}r /dev/stdin" "$hw" <<'EOF'
#include <cstdio>
namespace { struct Meter {
	std::map<long, long> rtts;
	std::map<std::pair<unsigned, long>, long> bytes;
	void received(unsigned from, long n) { bytes[{from, ns3::Simulator::Now().GetNanoSeconds() / 10000}] += n; }
	~Meter() {
		FILE *f = fopen("meter.txt", "w");
		for (auto &r : rtts) fprintf(f, "rtt %ld %ld\n", r.first, r.second);
		for (auto &b : bytes) fprintf(f, "received %u %ld %ld\n", b.first.first >> 8 & 0xffff, b.first.second, b.second);
		fclose(f);
	}
} meter; }
EOF
sed -i -e 's/int x = ReceiverCheckSeq(.*/& if (x == 1 || x == 5) meter.received(ch.sip, payload_size);/' -e \
	's/DataRate("150Mbps")/m_rai/' -e 's/^\tif (m_ack_interval == 0)$/\tif (auto sent = qp->rates.find(seq); sent != qp->rates.end())\n\t\tmeter.rtts[Simulator::Now().GetNanoSeconds() - (long)sent->second]++;\n&/' "$hw"
sed -i 's/^\thp.m_lastUpdateSeq = 0;/& memset(hp.hop, 0, sizeof(hp.hop)); prevRtt = prevCompletion = 0;/' src/point-to-point/model/rdma-queue-pair.cc
sed -i 's/^RdmaEgressQueue::RdmaEgressQueue() {/& hostDequeueIndex = 0;/' src/point-to-point/model/qbb-net-device.cc
# shellcheck disable=SC2046
compile "-std=c++17 -O1 -DNS3_BUILD_PROFILE_OPTIMIZED -D__LINUX__ -Iinclude" $(find src -name '*.cc' | grep -v \
	'/mpi/\|/test/\|/examples/\|/bindings/\|win32\|cairo\|int64x64-double\|sqlite\|remote-channel\|example-as-test\|model/version.cc')
# Objects initialise their static variables in this order: applications need core's.
g++ -std=c++17 -O1 -w -Iinclude -o "$programs/power_ns3" \
	objects/src_{core,stats,network,traffic-control,bridge,point-to-point,internet,applications}_*.o \
	examples/PowerTCP/powertcp-evaluation-burst.cc -lpthread
