# Starts FRR's zebra and bgpd on this switch: BGP unnumbered with each other switch (RFC 5549, RFC 8950), an AS for each leaf
# and one for spines.
set -e
case $(hostname) in
spine*) as=65000 ;;
*) as=$((65001 + $(hostname | tr -dc 0-9))) ;;
esac
{
	echo "hostname $(hostname)"
	# FRR 8.4 does not restore groups of next hops, which the kernel shrinks when a link goes down
	echo "no zebra nexthop kernel enable"
	echo "router bgp $as"
	echo " bgp router-id $(ip -4 -o addr show dev lo scope global | awk '{sub("/.*", "", $4); print $4}')"
	echo " no bgp ebgp-requires-policy"
	echo " bgp bestpath as-path multipath-relax"
	echo " timers bgp 1 3"
	for port in $(ip -o link | awk -F '[ @:]+' '/-eth/ {print $2}'); do
		# ports to hosts have IPv4 addresses
		if ip -4 -o addr show dev "$port" | grep -q .; then continue; fi
		echo " neighbor $port interface remote-as external"
		echo " neighbor $port timers connect 1"
		echo " neighbor $port advertisement-interval 0"
	done
	echo " address-family ipv4 unicast"
	echo "  redistribute connected"
	echo " exit-address-family"
} >/etc/frr/frr.conf
mkdir -p /run/frr
touch /etc/frr/vtysh.conf
chown -R frr:frr /etc/frr /run/frr
/usr/lib/frr/zebra -d -f /etc/frr/frr.conf -A 127.0.0.1
/usr/lib/frr/bgpd -d -f /etc/frr/frr.conf -A 127.0.0.1
