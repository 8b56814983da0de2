package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/lazy"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// In a tournament the controllers of a class share one fabric. Each player has a place, a host with a flow that never
// ends and short messages. In each round players are put into games anew, so that each is at each place equally often,
// whatever the seed. Two more games of each round are a player's own: home, where all places are its own, and quiet,
// where few are. A player who never backs off gets nothing for what it takes from others, and nothing at home, where it
// meets itself.

// Games of a tournament, by the names of the exercise's runs.
const (
	sharedGame = "shared"
	homeGame   = "home"
	quietGame  = "quiet"
)

// house names the controller at places without a player.
const house = "swift"

// Bars of a game's credits. See Standing.
const (
	enoughShare = 0.9 // of the fair share
	greedyShare = 1.25
	noShare     = 2.0
	fullLink    = 0.85 // of the payload that the link carries
	idleLink    = 0.4
	shortWait   = 1.6 // mean slowdown of short messages
	longWait    = 6.0
)

// ErrNoTournament reports an exercise whose submissions cannot play against each other.
var ErrNoTournament = errors.New("the exercise is no tournament")

// TournamentOptions holds options for a tournament.
type TournamentOptions struct {
	Seed   uint64
	Rounds int
	Jobs   int
}

// Standing holds a player's result: means over its games, from 0 to 1, and their product in percent.
type Standing struct {
	Name   string  `json:"name"`
	Points float64 `json:"points"`
	// Shared holds the credit, from 0 to 1, for the goodput beside other controllers. The fair share is an equal part of
	// what the flows that take more than 1.25 fair shares have left. Goodput from 0.9 to 1.25 fair shares has credit 1,
	// less has credit in proportion, and more has less credit, down to 0 from two fair shares on.
	Shared float64 `json:"shared"`
	// Home holds the credit, from 0 to 1, in a game where all flows use this controller: that for a full link times that
	// for a short wait of small messages. Quiet holds the credit for a full link where two flows use it and there are no
	// others.
	Home    float64 `json:"home"`
	Quiet   float64 `json:"quiet"`
	Games   int     `json:"games"` // with others
	Problem string  `json:"problem,omitempty"`
}

// player represents a controller in a tournament.
type player struct {
	Standing
	file   string
	source []byte
}

// Tournament plays the submissions of a class against each other in the scenarios of an exercise. The result depends
// on the seed and the submissions, not on their order.
func (e *Exercise) Tournament(ctx context.Context, found []Found, o TournamentOptions) ([]Standing, error) {
	for _, name := range []string{sharedGame, homeGame, quietGame} {
		if e.run(name) == nil || len(e.Controllers) != 1 {
			return nil, fmt.Errorf("%w: %s lacks one controller or the runs %s, %s and %s (try --exercise tournament)",
				ErrNoTournament, e.Name, sharedGame, homeGame, quietGame)
		}
	}
	found = slices.SortedFunc(slices.Values(found), func(a, b Found) int { return strings.Compare(a.Name, b.Name) })
	players := make([]*player, len(found))
	for i, from := range found {
		p := &player{Standing: Standing{Name: from.Name}}
		s := Submit(e, from.Folders[0], from.Folders[1:]...)
		for file, source := range s.programs {
			p.file, p.source = fmt.Sprintf("player-%d%s", i, file[strings.LastIndex(file, "."):]), source
		}
		if p.source == nil {
			p.Problem = firstLine(s.Problems[e.Controllers[0][0]])
		}
		players[i] = p
	}
	t := &tournament{e: e, o: o, players: players}
	if err := t.alone(ctx); err != nil {
		return nil, err
	}
	if err := t.together(ctx); err != nil {
		return nil, err
	}
	standings := make([]Standing, len(players))
	for i, p := range players {
		if p.Games > 0 {
			p.Shared /= float64(p.Games)
		}
		p.Points = math.Round(1e4*p.Shared*p.Home*p.Quiet) / 100
		standings[i] = p.Standing
	}
	slices.SortStableFunc(standings, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(b.Points, a.Points), cmp.Compare(a.Name, b.Name))
	})
	return standings, nil
}

type tournament struct {
	e       *Exercise
	o       TournamentOptions
	players []*player
}

// arena returns the scenario of a game in a round, whose parameters and seed the round decides.
func (t *tournament) arena(round int, game string) (*scenario.Scenario, error) {
	of, err := t.e.For(fmt.Sprintf("round %d of tournament %d", round, t.o.Seed))
	if err != nil {
		return nil, err
	}
	u, err := (&Submission{e: of}).scenario(of.run(game))
	if err != nil {
		return nil, err
	}
	return u.WithSeed(t.o.Seed*1000 + uint64(round))
}

// alone plays the home and quiet games of all players. A player whose program fails there is out.
func (t *tournament) alone(ctx context.Context) error {
	var all errgroup.Group
	all.SetLimit(max(t.o.Jobs, 1))
	for i, p := range t.players {
		if p.Problem != "" {
			continue
		}
		all.Go(func() error {
			for round := range t.o.Rounds {
				for _, game := range []string{homeGame, quietGame} {
					u, err := t.arena(round, game)
					if err != nil {
						return err
					}
					s, problem, err := t.play(ctx, u, []int{i})
					if err != nil {
						return err
					}
					if problem != "" {
						p.Problem, p.Home, p.Quiet = game+": "+firstLine(problem), 0, 0
						return nil
					}
					goodput := 0.0
					for _, tag := range slices.Sorted(maps.Keys(s.ByTag)) { // equal sums have equal order
						if strings.HasPrefix(tag, placeTag) {
							goodput += s.ByTag[tag].Goodput
						}
					}
					credit := between(goodput/carried(u), idleLink, fullLink)
					if game == homeGame {
						p.Home += credit * between(s.ByTag[shortTag].Slowdown.Mean, longWait, shortWait) / float64(t.o.Rounds)
					} else {
						p.Quiet += credit / float64(t.o.Rounds)
					}
				}
			}
			return nil
		})
	}
	return all.Wait()
}

// between returns a credit that is 0 at one value, 1 at another, and linear between them.
func between(v, none, full float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return min(1, max(0, (v-none)/(full-none)))
}

// Tags of a game's flows.
const (
	placeTag = "place"
	shortTag = "short"
)

// carried returns the payload that the slowest link between switches carries, in bits per second, in full packets.
func carried(u *scenario.Scenario) float64 {
	least := math.Inf(1)
	for i := range u.Topology.Ports {
		p := &u.Topology.Ports[i]
		if u.Topology.Nodes[p.Node].Kind == topologies.Switch &&
			u.Topology.Nodes[u.Topology.Ports[p.Peer].Node].Kind == topologies.Switch {
			least = min(least, float64(p.Rate))
		}
	}
	return least * 1000 / 1082
}

// play plays one game with players at the places; the last one has all further places. -1 stands for the house. problem
// says why the game has no result, such as a program's mistake.
func (t *tournament) play(ctx context.Context, u *scenario.Scenario, at []int) (s *measure.Summary, problem string,
	err error,
) {
	c := *u
	c.Flows = slices.Clone(u.Flows)
	names := make([]string, len(at))
	for i, k := range at {
		if names[i] = house; k < 0 {
			continue
		}
		p := t.players[k]
		spec, err := controllerfile.Parse(p.file, p.source, (&Options{}).meter(new(spent)))
		if err == nil {
			names[i] = spec.Name
			c.Catalog, err = c.Catalog.With(spec)
		}
		if err != nil {
			return nil, "", err
		}
	}
	var places []topologies.NodeID
	for i := range c.Flows {
		f := &c.Flows[i]
		place := slices.Index(places, f.Source)
		if place < 0 {
			place, places = len(places), append(places, f.Source)
		}
		extras := scenario.FlowExtras{}
		if f.Extras != nil {
			extras = *f.Extras
		}
		extras.CC = names[min(place, len(names)-1)]
		f.Extras = &extras
		if f.Tag = shortTag; f.Size == 0 {
			f.Tag = fmt.Sprintf("%s%d", placeTag, place)
		}
	}
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s, err = runner.Watch(within, &c, runner.Options{
		Controller: names[0], Seed: c.Seed, Processors: 1,
		Progress: func(_ vtime.Time, total *engine.Totals) {
			if total.Events > mostEvents {
				cancel(errors.New("too many events"))
			}
		},
	}, runner.Watching{})
	var machine *runner.EnvironmentError
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case err != nil && (s == nil || errors.As(err, &machine)):
		return nil, "", err
	case err != nil:
		return s, err.Error(), nil
	case !s.Trusted():
		return s, strings.Join(append(s.Verdict.Messages, string(s.Verdict.Status)), "; "), nil
	}
	return s, "", nil
}

// culprit matches the file of the player whose program a verdict names.
var culprit = lazy.Regexp(`player-(\d+)\.`)

// together plays the shared games. A player has a seat, and is at the place of its seat in the first round and one
// place further in each. Its opponents at the other seats change.
func (t *tournament) together(ctx context.Context) error {
	u, err := t.arena(0, sharedGame)
	if err != nil {
		return err
	}
	hosts := map[topologies.NodeID]bool{}
	for i := range u.Flows {
		hosts[u.Flows[i].Source] = true
	}
	playing := slices.DeleteFunc(rand.New(rand.NewPCG(t.o.Seed, uint64(len(t.players)))).Perm(len(t.players)),
		func(k int) bool { return t.players[k].Problem != "" })
	seats := deal(playing, len(hosts))
	games := len(seats[0])
	results := make([][]float64, games*t.o.Rounds) // shares by place
	lineups, failed := make([][]int, len(results)), make([][]int, len(results))
	var all errgroup.Group
	all.SetLimit(max(t.o.Jobs, 1))
	for g := range results {
		round, game := g/games, g%games
		at := lineup(seats, round, game, len(playing))
		lineups[g] = at
		all.Go(func() error {
			for {
				u, err := t.arena(round, sharedGame)
				if err != nil {
					return err
				}
				s, problem, err := t.play(ctx, u, at)
				if err != nil {
					return err
				}
				if problem == "" {
					results[g] = shares(s, len(at))
					return nil
				}
				k := -1
				if named := culprit().FindStringSubmatch(problem); named != nil {
					k, _ = strconv.Atoi(named[1])
				}
				i := slices.Index(at, k)
				if k < 0 || i < 0 {
					return fmt.Errorf("a game of the tournament failed: %s", problem)
				}
				at[i] = -1 // the others play without it
				failed[g] = append(failed[g], k)
			}
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for g, at := range lineups {
		for place, k := range at {
			if k >= 0 {
				t.players[k].Shared += shareCredit(results[g][place])
				t.players[k].Games++
			}
		}
		for _, k := range failed[g] { // it gets nothing for this game
			t.players[k].Games++
			t.players[k].Problem = "failed in a shared game"
		}
	}
	return nil
}

// deal gives each player a seat.
func deal(players []int, seats int) [][]int {
	all := make([][]int, seats)
	for i, k := range players {
		all[i%seats] = append(all[i%seats], k)
	}
	return all
}

// lineup returns the players of a game by place. If there are fewer players than seats, the house has the others.
func lineup(seats [][]int, round, game, players int) []int {
	at := make([]int, len(seats))
	for seat, of := range seats {
		place := (seat + round) % len(seats)
		if at[place] = -1; len(of) > 0 && (game < len(of) || players >= len(seats)) {
			at[place] = of[(game+round*seat)%len(of)]
		}
	}
	return at
}

// shares returns the goodputs at the places, relative to an equal share of what greedy ones have left. Those of greedy
// ones are relative to the share of all.
func shares(s *measure.Summary, places int) []float64 {
	all := make([]float64, places)
	sum := 0.0
	for i := range all {
		all[i] = s.ByTag[fmt.Sprintf("%s%d", placeTag, i)].Goodput
		sum += all[i]
	}
	fair := sum / float64(places)
	if sum == 0 {
		return all
	}
	left, modest := sum, places
	for _, x := range all {
		if x > greedyShare*fair {
			left, modest = left-x, modest-1
		}
	}
	for i, x := range all {
		if x > greedyShare*fair {
			all[i] = x / fair
		} else {
			all[i] = min(greedyShare, x/(left/float64(max(modest, 1))))
		}
	}
	return all
}

// shareCredit returns the credit for a share.
func shareCredit(share float64) float64 {
	if share > greedyShare {
		return between(share, noShare, greedyShare)
	}
	return min(1, share/enoughShare)
}
