package spelling

import "testing"

func TestNearest(t *testing.T) {
	keys := []string{"hosts", "host_rate", "priorities", "rate", "delay"}
	for given, want := range map[string]string{
		"hots": "hosts", "Hosts": "hosts", "dealy": "delay", "prio": "priorities", "hostrate": "host_rate", "zzz": "", "": "",
		"raet": "rate", // two letters swapped count as one mistake
	} {
		if got := Nearest(given, keys); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", given, got, want)
		}
	}
}
