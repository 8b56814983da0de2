package rundir

import (
	"errors"
	"strconv"

	"github.com/pausenet/pausenet/internal/files"
)

// QPsFile has the QPs of flows that have several.
const QPsFile = "qps.csv"

// QPsHeader heads qps.csv.
const QPsHeader = "flow,qp,udp_source_port,size_bytes,fct_ns,delivered_bytes,retransmitted_bytes,ce_packets"

// QPRow is a row of qps.csv: a QP of a flow.
type QPRow struct {
	Flow, QP                 int
	Port                     uint16
	Size                     int64 // payload bytes; 0: unbounded
	FCT                      int64 // ns; -1: it has not ended
	Delivered, Retransmitted int64 // payload bytes
	CE                       int64 // data packets that arrived with CE
}

// WriteQPs writes qps.csv.
func WriteQPs(folder *files.Folder, rows func(yield func(*QPRow) bool)) error {
	var table csvFile
	if err := table.create(folder, QPsFile, QPsHeader); err != nil {
		return err
	}
	var failed error
	for x := range rows {
		table.row = strconv.AppendInt(table.row[:0], int64(x.Flow), 10)
		table.number(int64(x.QP))
		table.number(int64(x.Port))
		table.number(x.Size)
		table.optional(int(x.FCT))
		table.number(x.Delivered)
		table.number(x.Retransmitted)
		table.number(x.CE)
		if failed = table.end(); failed != nil {
			break
		}
	}
	return errors.Join(failed, table.close())
}
