package lab

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"
)

// TestSixty grades sixty submissions in five exercises twice: forwards with one job, and backwards with two jobs and two
// submissions at a time. Each grade is equal to the last digit. In short mode these are five submissions.
func TestSixty(t *testing.T) {
	type work struct {
		e      *Exercise
		folder string
	}
	var all []work
	exercises := map[string]int{"incident": 25, "rdma": 25, "figure": 4, "tournament": 3, "headroom": 3}
	for _, name := range slices.Sorted(maps.Keys(exercises)) {
		students := exercises[name]
		if testing.Short() {
			students = 1
		}
		for i := range students {
			student := fmt.Sprintf("student %d", i)
			e, err := LoadFor(name, "", "", student)
			if err == nil {
				e, err = e.WithTeacher(material(t))
			}
			if err != nil {
				t.Fatal(err)
			}
			trials, err := e.Trials(material(t))
			if err != nil {
				t.Fatal(err)
			}
			folder := filepath.Join(t.TempDir(), name+student)
			trial := trials[(7*i+8)%len(trials)] // honest ones and cheats
			if err := trial.Write(t.Context(), e, material(t), folder, Options{Results: t.TempDir(), Jobs: 1}); err != nil {
				t.Fatal(err)
			}
			all = append(all, work{e, folder})
		}
	}
	grades := func(order []int, jobs int) []*Grade {
		found := make([]*Grade, len(all))
		var at errgroup.Group
		at.SetLimit(jobs)
		for _, i := range order {
			results := t.TempDir()
			at.Go(func() (err error) {
				found[i], err = Submit(all[i].e, all[i].folder).Check(context.Background(), Options{Results: results, Jobs: jobs})
				if err != nil {
					return err
				}
				for k := range found[i].Checks {
					found[i].Checks[k].Report = "" // has the results' folder
				}
				return nil
			})
		}
		if err := at.Wait(); err != nil {
			t.Fatal(err)
		}
		return found
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	first := grades(order, 1)
	slices.Reverse(order)
	second := grades(order, 2)
	points := map[Points]bool{}
	for i := range all {
		points[first[i].Points] = true
		if !reflect.DeepEqual(first[i], second[i]) {
			t.Errorf("%s of %s:\n%+v\n%+v", all[i].e.Name, all[i].e.Student, first[i], second[i])
		}
	}
	if len(points) < 3 {
		t.Errorf("all submissions have the points %v", points)
	}
}
