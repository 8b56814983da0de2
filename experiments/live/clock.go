//go:build linux

package live

import "github.com/pausenet/pausenet/orchestrator/wallclock"

// Clock holds measurements of how well the machine kept up.
type Clock struct {
	Slowdown      float64 `json:"slowdown"`
	FirstSlowdown float64 `json:"slowdown_at_start"`
	VirtualNS     int64   `json:"virtual_ns"`
	WallSeconds   float64 `json:"wall_seconds"`
	LatenessP50NS int64   `json:"lateness_p50_ns"` // of events, in virtual time
	LatenessP99NS int64   `json:"lateness_p99_ns"`
	// Frames of programs, and their wall-clock latency from the host's port to the engine.
	Frames             int64   `json:"program_frames"`
	FrameLatenessP50NS int64   `json:"frame_lateness_p50_wall_ns"`
	FrameLatenessP99NS int64   `json:"frame_lateness_p99_wall_ns"`
	FrameLatenessMaxNS int64   `json:"frame_lateness_max_wall_ns"`
	Busy               float64 `json:"busy"` // 0 to 1, of one processor, over the whole time
	StalledSeconds     float64 `json:"stalled_seconds"`
	OldStalled         float64 `json:"held_seconds"` // the same under the old name
}

func clockOf(s wallclock.Status) Clock {
	return Clock{
		Slowdown: s.Slowdown, FirstSlowdown: s.First, Frames: s.Frames, FrameLatenessP50NS: s.FrameP50.Nanoseconds(),
		FrameLatenessP99NS: s.FrameP99.Nanoseconds(), FrameLatenessMaxNS: s.FrameMax.Nanoseconds(),
		VirtualNS: s.Virtual.Nanoseconds(), WallSeconds: s.Wall.Seconds(),
		LatenessP50NS: s.LatenessP50.Nanoseconds(), LatenessP99NS: s.LatenessP99.Nanoseconds(), Busy: s.Busy,
		StalledSeconds: s.Stalled.Seconds(), OldStalled: s.Stalled.Seconds(),
	}
}
