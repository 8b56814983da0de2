package counters

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// Perftest holds the output of a client of perftest's bandwidth tests, such as ib_write_bw.
type Perftest struct {
	Local, Remote netip.Addr // by their GIDs; invalid if not printed
	Bytes         int64      // of a message
	Iterations    int64
	Gigabits      float64 // the average bandwidth, in Gbit/s of payload
	Server        bool    // the output is a server's, which sends nothing
}

// ErrNotPerftest reports a text without the table of perftest's bandwidth tests.
var ErrNotPerftest = errors.New("not the output of one of perftest's bandwidth tests")

// ReadPerftest reads the output of one of perftest's bandwidth tests. If it has several message sizes, the last counts.
func ReadPerftest(data []byte) (*Perftest, error) {
	p := &Perftest{}
	unit := 0.0 // Gbit/s in one unit of the table's bandwidth
	remote := false
	for i, line := range sniff(data) {
		words := strings.Fields(line)
		switch {
		case strings.Contains(line, "Waiting for client to connect"):
			p.Server = true
		case strings.Contains(line, "local address:"):
			remote = false
		case strings.Contains(line, "remote address:"):
			remote = true
		case len(words) > 1 && words[0] == "GID:":
			if a := addressOf(words[1]); remote {
				p.Remote = a
			} else {
				p.Local = a
			}
		case len(words) > 2 && words[0] == "#bytes" && words[1] == "#iterations":
			unit = 1.048576 * 8 / 1000 // MB/sec are MiB/s
			if strings.Contains(line, "Gb/sec") {
				unit = 1
			}
		case unit > 0 && len(words) >= 4 && !strings.HasPrefix(words[0], "-"):
			var errs [3]error
			p.Bytes, errs[0] = strconv.ParseInt(words[0], 10, 64)
			p.Iterations, errs[1] = strconv.ParseInt(words[1], 10, 64)
			p.Gigabits, errs[2] = strconv.ParseFloat(words[3], 64)
			if errors.Join(errs[:]...) != nil || p.Bytes < 0 || p.Iterations < 0 || !(p.Gigabits >= 0) {
				return nil, &LineError{
					i + 1,
					fmt.Errorf("expected bytes, iterations and bandwidths, not %.60q", strings.TrimSpace(line)),
				}
			}
			p.Gigabits *= unit
		}
	}
	if unit == 0 {
		return nil, ErrNotPerftest
	}
	return p, nil
}

// addressOf returns the IPv4 address at the end of a GID, which perftest prints as bytes in decimal.
func addressOf(gid string) netip.Addr {
	parts := strings.Split(gid, ":")
	var a [4]byte
	if len(parts) != 16 {
		return netip.Addr{}
	}
	for i, part := range parts[12:] {
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil {
			return netip.Addr{}
		}
		a[i] = byte(n)
	}
	return netip.AddrFrom4(a)
}

// Write writes the parts of ib_write_bw's output that ReadPerftest reads, in its layout, with MiB/s.
func (p *Perftest) Write(w io.Writer) error {
	const rule = "---------------------------------------------------------------------------------------\n"
	gid := func(a netip.Addr) string {
		b := a.As4()
		return fmt.Sprintf("00:00:00:00:00:00:00:00:00:00:255:255:%02d:%02d:%02d:%02d", b[0], b[1], b[2], b[3])
	}
	average := p.Gigabits * 1000 / 8 / 1.048576
	rate := 0.0 // millions of messages a second
	if p.Bytes > 0 {
		rate = p.Gigabits * 1000 / 8 / float64(p.Bytes)
	}
	_, err := fmt.Fprintf(w, rule+"                    RDMA_Write BW Test\n"+
		" Dual-port       : OFF\t\tDevice         : mlx5_0\n Number of qps   : 1\t\tTransport type : IB\n"+
		" Connection type : RC\t\tUsing SRQ      : OFF\n Link type       : Ethernet\n GID index       : 3\n"+rule+
		" local address: LID 0000 QPN 0x0011 PSN 0x000000 RKey 0x000100 VAddr 0x00000000010000\n GID: %s\n"+
		" remote address: LID 0000 QPN 0x0011 PSN 0x000000 RKey 0x000100 VAddr 0x00000000010000\n GID: %s\n"+rule+
		" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"+
		" %-10d %-14d %-18.2f %-20.2f %.6f\n"+rule, gid(p.Local), gid(p.Remote), p.Bytes, p.Iterations, 0.0, average, rate)
	return err
}
