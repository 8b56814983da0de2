package rundir

import (
	"errors"
	"strconv"

	"github.com/pausenet/pausenet/internal/files"
)

// RecoveryFile is the name of the file of what selective repeat met, a flow a row.
const RecoveryFile = "recovery.csv"

// RecoveryHeader heads recovery.csv, whose counts are of packets.
const RecoveryHeader = "flow,spurious,duplicates,reordered,reordering_extent,trimmed"

// FlowRecovery is a row of recovery.csv.
type FlowRecovery struct{ Spurious, Duplicates, Reordered, Extent, Trimmed int64 }

// WriteRecovery writes recovery.csv of so many flows.
func WriteRecovery(folder *files.Folder, flows int, of func(flow int) FlowRecovery) error {
	var c csvFile
	if err := c.create(folder, RecoveryFile, RecoveryHeader); err != nil {
		return err
	}
	for i := range flows {
		r := of(i)
		c.row = strconv.AppendInt(c.row[:0], int64(i), 10)
		for _, n := range [...]int64{r.Spurious, r.Duplicates, r.Reordered, r.Extent, r.Trimmed} {
			c.number(n)
		}
		if err := c.end(); err != nil {
			return errors.Join(err, c.close())
		}
	}
	return c.close()
}
