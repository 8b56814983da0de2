package measure

// OldKeys are the keys that summary.json had under other names: by_size_share (now by_size_bin), share of a figure (size_bin),
// links.held (links.paused) and speed.crossings (speed.pipeline_passes). The file is to be decoded once more, into what is returned
// first; take then fills in what the summary lacks.
func (s *Summary) OldKeys() (into any, take func()) {
	var old struct {
		BySizeShare []EqualSizeBin `json:"by_size_share"`
		Links       struct {
			Held []Link `json:"held"`
		} `json:"links"`
		Speed struct {
			Crossings int64 `json:"crossings"`
		} `json:"speed"`
		Figures []struct {
			Share int `json:"share"`
		} `json:"figures"`
	}
	return &old, func() {
		if s.BySizeBin == nil {
			s.BySizeBin = old.BySizeShare
		}
		if s.Links.Paused == nil {
			s.Links.Paused = old.Links.Held
		}
		if s.Speed.Passes == 0 {
			s.Speed.Passes = old.Speed.Crossings
		}
		for i := range old.Figures {
			if s.Figures[i].SizeBin == 0 {
				s.Figures[i].SizeBin = old.Figures[i].Share
			}
		}
	}
}
