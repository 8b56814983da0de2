# Starts BIRD on this switch: BGP with each other switch over link-local addresses, an AS for each leaf and one for spines.
set -e
case $(hostname) in
spine*) as=65000 ;;
*) as=$((65001 + $(hostname | tr -dc 0-9))) ;;
esac
{
	echo "router id $(ip -4 -o addr show dev lo scope global | awk '{sub("/.*", "", $4); print $4}');"
	echo "protocol device { scan time 1; }"
	echo "protocol direct { ipv4; }"
	echo "protocol kernel { merge paths on; ipv4 { export where source = RTS_BGP; }; }"
	for port in $(ip -o link | awk -F '[ @:]+' '/-eth/ {print $2}'); do
		# ports to hosts have IPv4 addresses
		if ip -4 -o addr show dev "$port" | grep -q .; then continue; fi
		peer=$(ping -6 -n -L -c 1 -W 5 "ff02::1%$port" | sed -n 's/.*bytes from \(fe80[^%]*\)%.*/\1/p')
		cat <<END
protocol bgp port$(echo "$port" | tr -dc 0-9) {
	local as $as;
	neighbor $peer%'$port' external;
	hold time 3;
	connect delay time 1; connect retry time 1; error wait time 1, 2;
	ipv4 { extended next hop on; import all; export all; };
}
END
	done
} >/run/bird.conf
bird -c /run/bird.conf -s /run/bird.ctl -P /run/bird.pid
