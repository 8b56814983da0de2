//go:build linux

package live

import (
	"os"
	"testing"
)

func TestOwner(t *testing.T) {
	for _, c := range []struct {
		a, b Owner
		want bool
	}{
		{Owner{UID: 1000}, Owner{UID: 1001}, false},
		{Owner{UID: 1000}, Owner{UID: 0}, false},
		{Owner{UID: 1000, Terminal: "/dev/pts/1"}, Owner{UID: 1000, Terminal: "/dev/pts/2"}, true},
		{Owner{Terminal: "/dev/pts/1"}, Owner{Terminal: "/dev/pts/2"}, false},
		{Owner{Terminal: "/dev/pts/1"}, Owner{Terminal: "/dev/pts/1"}, true},
		{Owner{Terminal: "/dev/pts/1"}, Owner{}, true},
	} {
		if c.a.Is(c.b) != c.want || c.b.Is(c.a) != c.want {
			t.Errorf("%v, %v: %t", c.a, c.b, !c.want)
		}
	}
	if os.Geteuid() == 0 {
		t.Setenv("SUDO_UID", "65534")
		if o := ThisOwner(); o.UID != 65534 || o.User != "nobody" {
			t.Errorf("by sudo: %+v", o)
		}
	}
}
