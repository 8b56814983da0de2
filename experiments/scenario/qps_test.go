package scenario

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/units"
)

func TestQPsSplit(t *testing.T) {
	for _, c := range []struct {
		qps  QPs
		size units.Bytes
		want []units.Bytes
	}{
		{QPs{}, 5000, []units.Bytes{5000}},
		{QPs{Count: 3}, 0, []units.Bytes{0, 0, 0}},
		{QPs{Count: 2}, 4000, []units.Bytes{2000, 2000}},
		{QPs{Count: 3}, 4500, []units.Bytes{2000, 2000, 500}}, // packets of 1000 B: 2, 2 and 1
		{QPs{Count: 8}, 2500, []units.Bytes{1000, 1000, 500}}, // no more QPs than packets
		{QPs{Count: 4}, 1, []units.Bytes{1}},
		{QPs{Count: 2, Message: 3000}, 10000, []units.Bytes{6000, 4000}}, // messages 0 and 2; 1 and 3
		{QPs{Count: 3, Message: 3000}, 10000, []units.Bytes{4000, 3000, 3000}},
		{QPs{Count: 3, Message: 700}, 1000, []units.Bytes{700, 300}},
	} {
		got := c.qps.Split(c.size, 1000)
		if !slices.Equal(got, c.want) {
			t.Errorf("%v of %+v: %v, want %v", c.size, c.qps, got, c.want)
		}
		sum := units.Bytes(0)
		for _, share := range got {
			sum += share
		}
		if sum != c.size {
			t.Errorf("%v of %+v: %v in all", c.size, c.qps, sum)
		}
	}
}
