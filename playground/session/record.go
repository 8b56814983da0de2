package session

import (
	"context"
	"os"
	"path/filepath"

	"github.com/pausenet/pausenet/experiments/observe"
	"github.com/pausenet/pausenet/experiments/results/replay"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/suite"
)

// Record runs a built-in and returns the replays of a built-in's runs.
func Record(name string) (replays [][]byte, err error) {
	folder, err := os.MkdirTemp("", "pausenet-recording")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	s, err := scenario.Reading{}.Load(name)
	if err != nil {
		return nil, err
	}
	one := suite.Scenario{Scenario: s, Controllers: s.Controllers, Seed: s.Seed}
	batch := &suite.Suite{Scenarios: []suite.Scenario{one}, Jobs: 1, Options: runner.Options{
		Directory: folder, Version: "recorded", Command: "pausenet run " + name + " --record",
		Observers: []runner.NewObserver{observe.Record},
	}}
	if _, err := batch.Run(context.Background()); err != nil {
		return nil, err
	}
	for _, controller := range s.Controllers {
		location := rundir.Location{Scenario: filepath.Join(folder, name), Seed: s.Seed, Controller: controller}
		data, _, err := replay.Read(location.Path(), controller)
		if err != nil {
			return nil, err
		}
		replays = append(replays, data)
	}
	return replays, nil
}
