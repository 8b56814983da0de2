package splitmix

import "testing"

// The published first outputs: for seed 1234567 (Rosetta Code, "Pseudo-random numbers/Splitmix64"), and of Vigna's
// reference implementation for seed 0.
func TestAt(t *testing.T) {
	for i, want := range []uint64{
		6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431,
		16408922859458223821,
	} {
		if got := At(1234567, uint64(i)); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
	if got := At(0, 0); got != 0xe220a8397b1dcdaf {
		t.Errorf("number 0 of seed 0 is %#x", got)
	}
}

func TestFloat(t *testing.T) {
	for bits, want := range map[uint64]float64{
		0: 0, 1<<11 - 1: 0, 1 << 11: 1. / (1 << 53), 1 << 63: 0.5,
		1<<64 - 1: 1 - 1./(1<<53),
	} {
		if got := Float(bits); got != want {
			t.Errorf("%#x is %g, want %g", bits, got, want)
		}
	}
}
