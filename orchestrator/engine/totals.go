package engine

// Totals holds an engine's counts over the run.
type Totals struct {
	Events          int64
	Passes          int64  // passes through the pipelines, triggers included
	Hops            int64  // frames that reached the far end of a link
	Triggers        int64  // passes that triggered pipelines to generate a packet
	Created         Amount // frames made by hosts and switches
	Ended           Amount // frames that ended: delivered, consumed, dropped
	Dropped         int64  // part of Ended
	LosslessDropped int64  // part of Dropped: in a lossless class
	Refused         int64  // frames of programs that the fabric dropped; not part of Dropped
	Taken           int64  // frames of programs that switches accepted, for their processors or to copy them for all hosts
	Missed          int64  // frames of programs lost to faults; part of Dropped
	Built           int64  // frames for programs that switches made: their processors' answers, and copies
}

// Amount counts frames and their bytes.
type Amount struct{ Frames, Bytes int64 }

func (a *Amount) add(n int) {
	a.Frames++
	a.Bytes += int64(n)
}

func (a *Amount) plus(o Amount) {
	a.Frames += o.Frames
	a.Bytes += o.Bytes
}

// takeFrom adds another worker's counts, and resets them.
func (t *Totals) takeFrom(o *Totals) {
	t.Events += o.Events
	t.Passes += o.Passes
	t.Hops += o.Hops
	t.Triggers += o.Triggers
	t.Created.takeFrom(&o.Created)
	t.Ended.takeFrom(&o.Ended)
	t.Dropped += o.Dropped
	t.LosslessDropped += o.LosslessDropped
	t.Refused += o.Refused
	t.Taken += o.Taken
	t.Missed += o.Missed
	t.Built += o.Built
	*o = Totals{}
}

func (a *Amount) takeFrom(o *Amount) {
	a.plus(*o)
	*o = Amount{}
}
