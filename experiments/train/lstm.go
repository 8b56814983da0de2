package train

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/pausenet/pausenet/hostagent/lstm"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// The thesis' training (section 3.4.2), and our choices where it leaves something open: the optimiser is Adam; a step
// uses one pair; a round repeats its 800 pairs until the prediction is as good as the thesis reports for round 19.
const (
	Rounds     = 19
	Batch      = 1
	Passes     = 40
	trainPairs = 800
	testPairs  = 200
	learning   = 0.001
)

// Numbers of runs under each controller.
const (
	collectRuns = 12  // pairs are collected from these
	unseenRuns  = 6   // the trained network is tried on these
	unseenFrom  = 500 // difference between the first seeds of the two
)

// PublishedMAPE holds the thesis' table 1, by round.
var PublishedMAPE = [Rounds]lstm.MAPE{
	{Train: .113, Test: .081},
	{Train: .089, Test: .079},
	{Train: .083, Test: .059},
	{Train: .064, Test: .083},
	{Train: .061, Test: .058},
	{Train: .050, Test: .067},
	{Train: .052, Test: .053},
	{Train: .055, Test: .045},
	{Train: .051, Test: .044},
	{Train: .046, Test: .042},
	{Train: .044, Test: .045},
	{Train: .042, Test: .039},
	{Train: .039, Test: .044},
	{Train: .040, Test: .037},
	{Train: .042, Test: .043},
	{Train: .040, Test: .035},
	{Train: .040, Test: .038},
	{Train: .036, Test: .042},
	{Train: .035, Test: .036},
}

// LSTMResult holds the results of the training of the network.
type LSTMResult struct {
	Weights *lstm.Weights
	// Available and Taken count, for each stratum of |K|, the collected pairs and those in the dataset.
	Available, Taken []int
	// Loss holds the mean absolute error of each fifth of each round's first pass. Each batch is measured before the
	// network learns from it.
	Loss []float64
	// Unseen holds the network's errors on runs of other seeds.
	Unseen Unseen
	// Predictions holds intervals of flows of unseen runs.
	Predictions []Prediction
}

// Unseen holds the errors (MAPE, fractions of 1) on runs from which no pair was collected.
type Unseen struct {
	Pairs  int
	All    float64 // every sample has equal weight
	Strata float64 // every stratum of |K| has equal weight, as in training
	// Under holds the errors on the runs of each controller in collectedUnder, with equal weight for every sample.
	Under []float64
	// Standstill holds the error, over all samples, of predicting the last RTT again. The network must do better.
	Standstill float64
	// Smoothed holds the error of predicting the smoothed RTT.
	Smoothed float64
}

// Prediction holds an interval of one flow: its RTTs in us, and what the network predicted for each, one sample
// earlier.
type Prediction struct {
	Scenario, Controller string
	Flow                 int
	From                 int // number of the first sample shown
	Measured, Predicted  []float64
}

// LSTM trains the network.
func LSTM(ctx context.Context, o *Options) (*LSTMResult, error) {
	c, err := collectAll(ctx, o)
	if err != nil {
		return nil, err
	}
	trial := o.trial
	if trial == "" {
		if trial, err = Trial(ctx, o.Plane); err != nil {
			return nil, err
		}
	}
	f, err := c.fit(ctx, o, lstm.LSTM)
	if err != nil {
		return nil, err
	}
	p := recipe(o)
	p.Scenarios, p.Pairs, p.MAPE, p.UnseenMAPE, p.Trial =
		c.collected.names(), len(f.data.pairs), f.mape, f.unseen.All, trial
	return &LSTMResult{
		Available: f.data.available[:], Taken: f.data.taken[:], Loss: f.loss, Unseen: f.unseen,
		Predictions: c.predictions(f.trainer.Model()),
		Weights:     &lstm.Weights{Parameters: lstm.Parameters(f.trainer.Parameters), Provenance: p},
	}, nil
}

// recipe returns the part of the provenance that is known before the training.
func recipe(o *Options) lstm.Provenance {
	return lstm.Provenance{
		Command: fmt.Sprintf("pausenet train lstm --seed %d --rounds %d --batch %d --passes %d", o.Seed, o.Rounds, o.Batch,
			o.Passes),
		Version: o.Version, Seed: o.Seed, Rounds: o.Rounds, Train: trainPairs, Test: testPairs, Passes: o.Passes,
		Batch:        o.Batch,
		LearningRate: learning, Loss: "mean absolute error", Optimiser: "Adam(0.9, 0.999, 1e-8)",
	}
}

// trialSeeds selects two of the incasts for the training of the built-in weights: with 26 flows and with 5. Under
// TIMELY both see PAUSE.
var trialSeeds = [...]uint64{1004, 1012}

// Trial returns the checksum of the network's parameters after one round of one pass over pairs of two incasts, under
// each controller. If the provenance of weights has another checksum, this program would train other weights: its
// simulation, random draws or computations have changed. plane does not change the checksum.
func Trial(ctx context.Context, plane plane.Opener) (string, error) {
	o := Options{Plane: plane, Seed: 1, Rounds: 1, Batch: 1, Passes: 1}
	var c collection
	for _, seed := range trialSeeds {
		r, err := gather(ctx, &o, collectedUnder, seed-1, 1)
		if err != nil {
			return "", err
		}
		c.collected = append(c.collected, r...)
	}
	f, err := c.fit(ctx, &o, lstm.LSTM)
	if err != nil {
		return "", err
	}
	p := lstm.Parameters(f.trainer.Parameters)
	return p.Checksum(), nil
}

// collection holds the runs that a network learns from, and those on which it is tried.
type collection struct{ collected, unseen runs }

func collectAll(ctx context.Context, o *Options) (*collection, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	collected, err := gather(ctx, o, collectedUnder, o.Seed*1000, cmp.Or(o.collect, collectRuns))
	if err != nil {
		return nil, err
	}
	unseen, err := gather(ctx, o, collectedUnder, o.Seed*1000+unseenFrom, cmp.Or(o.unseen, unseenRuns))
	return &collection{collected, unseen}, err
}

// fitted represents a trained network.
type fitted struct {
	trainer *lstm.Trainer
	data    *dataset
	mape    []lstm.MAPE // by round
	loss    []float64   // as in LSTMResult
	unseen  Unseen
}

// fit trains a network of one kind. Equal collections and options give each kind the same pairs.
func (c *collection) fit(ctx context.Context, o *Options, cell lstm.Cell) (*fitted, error) {
	random := lstm.NewRandom(o.Seed)
	f := &fitted{data: newDataset(c.collected.sequences(), random)}
	if len(f.data.pairs) < trainPairs+testPairs {
		return nil, fmt.Errorf("only %d pairs were collected", len(f.data.pairs))
	}
	f.trainer = lstm.NewTrainer(cell, random, learning)
	cards := deck{pairs: f.data.pairs, random: random}
	for round := range o.Rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m := f.round(cards.deal(trainPairs+testPairs), random, o)
		f.mape = append(f.mape, m)
		o.tell("%v, round %d of %d: MAPE %.1f %% train, %.1f %% test", cell, round+1, o.Rounds, 100*m.Train, 100*m.Test)
	}
	f.unseen = c.judge(f.trainer.Model(), random)
	return f, nil
}

// lossParts counts the values of the loss per round.
const lossParts = 5

// round trains on the first of the drawn pairs and tests on the others. The MAPE of the training pairs is
// measured in the first pass, as is usual: on each batch before the network learns from it. The MAPE of the test pairs
// is measured after the round.
func (f *fitted) round(drawn []lstm.Pair, random *lstm.Random, o *Options) lstm.MAPE {
	train, test := slices.Clone(drawn[:trainPairs]), drawn[trainPairs:]
	var m lstm.MAPE
	loss := make([]float64, lossParts)
	for pass := range o.Passes {
		if pass > 0 {
			for i, k := range permutation(random, trainPairs) {
				train[i] = drawn[k]
			}
		}
		for i := 0; i < trainPairs; i += o.Batch {
			batch := train[i:min(i+o.Batch, trainPairs)]
			share := float64(len(batch)) / trainPairs
			if pass == 0 {
				m.Train += float64(share * mape(f.trainer.Model(), batch))
			}
			l := f.trainer.Step(batch)
			if pass == 0 {
				loss[i*lossParts/trainPairs] += float64(lossParts * share * l)
			}
		}
	}
	f.loss = append(f.loss, loss...)
	m.Test = mape(f.trainer.Model(), test)
	return m
}

// judge tries a network on the unseen runs.
func (c *collection) judge(n lstm.Model, random *lstm.Random) (u Unseen) {
	all := c.unseen.sequences()
	var pairs []lstm.Pair
	for _, q := range all {
		pairs = append(pairs, q.pairs()...)
	}
	u.Pairs = len(pairs)
	for _, controller := range collectedUnder {
		var under []lstm.Pair
		for _, q := range c.unseen.under(controller).sequences() {
			under = append(under, q.pairs()...)
		}
		u.Under = append(u.Under, mape(n, under))
	}
	u.All, u.Strata = mape(n, pairs), mape(n, newDataset(all, random).pairs)
	for i := range pairs {
		p := &pairs[i]
		u.Standstill += math.Abs(p.Features[lstm.Steps-1]-p.Label) / (1 + p.Label) / float64(len(pairs))
		u.Smoothed += math.Abs(p.Label) / (1 + p.Label) / float64(len(pairs))
	}
	return u
}

// predictions returns predictions for the first unseen run under each controller.
func (c *collection) predictions(n lstm.Model) (all []Prediction) {
	for _, controller := range collectedUnder {
		all = append(all, predict(n, &c.unseen.under(controller)[0]))
	}
	return all
}

// mostShown limits the samples of a flow in a prediction.
const mostShown = 150

// predict predicts the RTTs of the longest flow of a run, as soon as it has enough samples.
func predict(n lstm.Model, r *run) Prediction {
	p := Prediction{Scenario: r.scenario, Controller: r.controller}
	for i, q := range r.flows {
		if len(q) > len(r.flows[p.Flow]) {
			p.Flow = i
		}
	}
	var series lstm.Series
	q := r.flows[p.Flow]
	for i := range q[:min(mostShown, len(q))] {
		if series.Count == lstm.Steps {
			if p.From == 0 {
				p.From = i
			}
			p.Measured = append(p.Measured, q[i])
			p.Predicted = append(p.Predicted, series.Prediction(n.Predict(&series.Features)))
		}
		series.Add(q[i])
	}
	return p
}
