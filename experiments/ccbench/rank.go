package ccbench

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// resamples is the number of bootstrap resamples.
const resamples = 1000

// Half holds the ranking on one half of the scenarios: the public or the held-out ones.
type Half struct {
	Name      string  `json:"name"`
	Scenarios int     `json:"scenarios"`
	Ranking   []Entry `json:"ranking"`
	// Fair holds the score that max-min fair shares without delay would have. It covers the FairScenarios scenarios for
	// which that score is known: those without faults whose flows have one path each.
	Fair          float64 `json:"fair_score,omitempty"`
	FairScenarios int     `json:"fair_scenarios"`
}

// Entry holds a controller's place.
type Entry struct {
	Rank       int    `json:"rank"`
	Controller string `json:"controller"`
	// Score holds the weighted geometric mean of the scenarios' scores, each a mean over seeds.
	Score float64 `json:"score"`
	// Low and High bound the score, and RankLow and RankHigh the rank, with 95 % confidence: by a bootstrap over the
	// scenarios of each family.
	Low      float64 `json:"score_low"`
	High     float64 `json:"score_high"`
	RankLow  int     `json:"rank_low"`
	RankHigh int     `json:"rank_high"`
	// OverFair holds the score over the FairScenarios alone, to compare with Fair; 0: there are none.
	OverFair float64 `json:"score_on_fair_scenarios,omitempty"`
	// Families holds the same score on each family alone.
	Families map[string]float64 `json:"families"`
	// Worst names the scenario with the highest score, which is WorstScore.
	Worst      string  `json:"worst_scenario"`
	WorstScore float64 `json:"worst_score"`
	// Fallbacks counts runs with ECMP instead of the scenario's load balancing. Unfinished counts runs with unfinished
	// flows or jobs, Broken those that count as if no flow had ended.
	Fallbacks  int `json:"fallbacks"`
	Unfinished int `json:"unfinished_runs"`
	Broken     int `json:"broken_runs"`
}

// Agreement measures how alike two rankings of the same controllers are.
type Agreement struct {
	// Tau holds Kendall's tau, from -1 to 1. Low and High bound it with 95 % confidence.
	Tau  float64 `json:"kendall_tau"`
	Low  float64 `json:"tau_low"`
	High float64 `json:"tau_high"`
	// Rho holds Spearman's rank correlation.
	Rho float64 `json:"spearman_rho"`
}

// scores holds the logarithm of each score, by controller and scenario.
type scores struct {
	controllers []string
	scenarios   []string
	family      []string // of each scenario
	weight      []float64
	log         [][]float64
}

// scoresOf collects the scores of a half: those of one seed, or for seed 0 their geometric means over all seeds. It
// leaves out controllers that lack a run of any scenario and seed needed.
func (b *Bench) scoresOf(half string, rows []Row, seed int64) *scores {
	type place struct{ controller, scenario string }
	sums, counts := map[place]float64{}, map[place]int{}
	for i := range rows {
		r := &rows[i]
		if r.Half == half && (seed == 0 || r.Seed == seed) {
			sums[place{r.Controller, r.Scenario}] += math.Log(r.Score)
			counts[place{r.Controller, r.Scenario}]++
		}
	}
	s := &scores{}
	for i := range b.Cases {
		if c := &b.Cases[i]; c.Half == half {
			s.scenarios, s.family = append(s.scenarios, c.Name), append(s.family, c.Family)
			s.weight = append(s.weight, c.Weight)
		}
	}
	needed := len(b.Seeds)
	if seed != 0 {
		needed = 1
	}
	for i := range b.Controllers {
		var own []float64
		for _, name := range s.scenarios {
			at := place{b.Controllers[i].Name, name}
			if counts[at] == needed {
				own = append(own, sums[at]/float64(needed))
			}
		}
		if len(own) == len(s.scenarios) && len(own) > 0 {
			s.controllers, s.log = append(s.controllers, b.Controllers[i].Name), append(s.log, own)
		}
	}
	return s
}

// mean returns the weighted geometric mean of a controller's scores. pick selects the scenarios, with repetitions.
func (s *scores) mean(controller int, pick []int) float64 {
	sum, weights := 0.0, 0.0
	for _, i := range pick {
		sum += s.weight[i] * s.log[controller][i]
		weights += s.weight[i]
	}
	return math.Exp(sum / weights)
}

// all selects each scenario once.
func (s *scores) all() []int {
	pick := make([]int, len(s.scenarios))
	for i := range pick {
		pick[i] = i
	}
	return pick
}

// resample draws as many scenarios of each family as there are, with repetitions.
func (s *scores) resample(rng *rand.Rand) []int {
	var pick []int
	for first := 0; first < len(s.family); {
		end := first
		for end < len(s.family) && s.family[end] == s.family[first] {
			end++
		}
		for range end - first {
			pick = append(pick, first+rng.IntN(end-first))
		}
		first = end
	}
	return pick
}

// means returns the scores of all controllers.
func (s *scores) means(pick []int) []float64 {
	var all []float64
	for i := range s.controllers {
		all = append(all, s.mean(i, pick))
	}
	return all
}

// ranks returns the rank of each value, from 1; equal values have the mean of their ranks.
func ranks(values []float64) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		below, equal := 0, 0
		for _, w := range values {
			if w < v {
				below++
			} else if w == v {
				equal++
			}
		}
		all[i] = float64(below) + float64(equal+1)/2
	}
	return all
}

// kendall returns Kendall's tau-b of paired values: the pairs in the same order minus those in the opposite order,
// over the geometric mean of the pairs that are not tied in each (Kendall, The treatment of ties in ranking problems,
// Biometrika 33, 1945).
func kendall(x, y []float64) float64 {
	var sum, untiedX, untiedY float64
	for i := range x {
		for k := range i {
			a, b := float64(cmp.Compare(x[i], x[k])), float64(cmp.Compare(y[i], y[k]))
			sum += a * b
			untiedX += a * a
			untiedY += b * b
		}
	}
	return sum / math.Sqrt(untiedX*untiedY)
}

// spearman returns Spearman's rank correlation: Pearson's of the ranks.
func spearman(x, y []float64) float64 {
	a, b := ranks(x), ranks(y)
	mean := float64(len(x)+1) / 2
	var both, ofX, ofY float64
	for i := range a {
		both += (a[i] - mean) * (b[i] - mean)
		ofX += (a[i] - mean) * (a[i] - mean)
		ofY += (b[i] - mean) * (b[i] - mean)
	}
	return both / math.Sqrt(ofX*ofY)
}

// interval95 returns the middle 95 % of values, which it sorts.
func interval95(values []float64) (low, high float64) {
	slices.Sort(values)
	return quantile(values, 0.025), quantile(values, 0.975)
}

// rank computes the ranking of a half.
func (b *Bench) rank(half string, rows []Row) Half {
	s := b.scoresOf(half, rows, 0)
	h := Half{Name: half, Scenarios: len(s.scenarios)}
	if len(s.controllers) == 0 {
		return h
	}
	rng := rand.New(rand.NewPCG(1, 2))
	sampledScores, sampledRanks := make([][]float64, len(s.controllers)), make([][]float64, len(s.controllers))
	for range resamples {
		means := s.means(s.resample(rng))
		for i, place := range ranks(means) {
			sampledScores[i], sampledRanks[i] = append(sampledScores[i], means[i]), append(sampledRanks[i], place)
		}
	}
	means := s.means(s.all())
	fair := s.fair(half, rows)
	if h.FairScenarios = len(fair.pick); h.FairScenarios > 0 {
		h.Fair = fair.score
	}
	for i, name := range s.controllers {
		e := Entry{Controller: name, Rank: 1, Score: means[i], Families: map[string]float64{}}
		if h.FairScenarios > 0 {
			e.OverFair = s.mean(i, fair.pick)
		}
		for _, other := range means {
			e.Rank += count(other < means[i])
		}
		e.Low, e.High = interval95(sampledScores[i])
		low, high := interval95(sampledRanks[i])
		e.RankLow, e.RankHigh = int(low), int(math.Ceil(high))
		for k, name := range s.scenarios {
			if score := math.Exp(s.log[i][k]); score > e.WorstScore {
				e.Worst, e.WorstScore = name, score
			}
		}
		for _, f := range families {
			var pick []int
			for k := range s.family {
				if s.family[k] == f.Name {
					pick = append(pick, k)
				}
			}
			if len(pick) > 0 {
				e.Families[f.Name] = s.mean(i, pick)
			}
		}
		for k := range rows {
			r := &rows[k]
			if r.Half != half || r.Controller != name {
				continue
			}
			e.Fallbacks += count(r.Paths != "")
			e.Broken += count(r.Broken != "")
			e.Unfinished += count(r.Unfinished > 0)
		}
		h.Ranking = append(h.Ranking, e)
	}
	slices.SortStableFunc(h.Ranking, func(a, b Entry) int { return cmp.Compare(a.Score, b.Score) })
	return h
}

// fairScore holds the score of max-min fair shares over the scenarios for which it is known.
type fairScore struct {
	pick  []int
	score float64
}

// fair computes the score of max-min fair shares. It reads the runs of the first controller, because the shares do not
// depend on the controller.
func (s *scores) fair(half string, rows []Row) (f fairScore) {
	logs, weights := 0.0, 0.0
	for k, name := range s.scenarios {
		sum, n := 0.0, 0
		for i := range rows {
			if r := &rows[i]; r.Half == half && r.Scenario == name && r.Controller == s.controllers[0] && r.Fair > 0 {
				sum += math.Log(r.Fair / r.Least)
				n++
			}
		}
		if n > 0 {
			f.pick = append(f.pick, k)
			logs += s.weight[k] * sum / float64(n)
			weights += s.weight[k]
		}
	}
	f.score = math.Exp(logs / weights)
	return f
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// agreement compares the rankings of the two halves. It returns nil if they rank different controllers, or fewer than
// three.
func (b *Bench) agreement(rows []Row) *Agreement {
	return agree(b.scoresOf(Public, rows, 0), b.scoresOf(HeldOut, rows, 0))
}

func agree(x, y *scores) *Agreement {
	if len(x.controllers) < 3 || !slices.Equal(x.controllers, y.controllers) {
		return nil
	}
	of := func(a, b []int) (tau, rho float64) {
		u, v := x.means(a), y.means(b)
		return kendall(u, v), spearman(u, v)
	}
	result := &Agreement{}
	result.Tau, result.Rho = of(x.all(), y.all())
	rng := rand.New(rand.NewPCG(3, 4))
	var taus []float64
	for range resamples {
		tau, _ := of(x.resample(rng), y.resample(rng))
		taus = append(taus, tau)
	}
	result.Low, result.High = interval95(taus)
	return result
}

// seedAgreement returns the least Kendall's tau between the public rankings of two seeds. It skips pairs that rank
// different controllers, or fewer than three, and returns NaN if no pair remains.
func (b *Bench) seedAgreement(rows []Row) float64 {
	least := math.NaN()
	for i, seed := range b.Seeds {
		for _, other := range b.Seeds[:i] {
			x, y := b.scoresOf(Public, rows, int64(seed)), b.scoresOf(Public, rows, int64(other))
			if len(x.controllers) < 3 || !slices.Equal(x.controllers, y.controllers) {
				continue
			}
			if tau := kendall(x.means(x.all()), y.means(y.all())); !(tau >= least) {
				least = tau
			}
		}
	}
	return least
}
