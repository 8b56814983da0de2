//go:build unix

package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// smallSweep replaces the sweep of the recipes, which takes longer.
const smallSweep = `
sweep:
  scenario: small.yaml
  parameters: {flows.0.size: [20KB, 40KB, 60KB]}
  controllers: [none, dcqcn]
`

const smallScenario = `
topology: {rate: 40Gbps, delay: 1us, star: {hosts: 4}}
switch: {pfc: {xoff: 30KB}, ecn: {kmin: 5KB, kmax: 50KB, pmax: 0.5}}
flows: [{from: h0..h2, to: h3, size: 100KB}]
duration: 100us
drain: true
expect_unused: [pfc, ecn, controller]
`

var codeBlock = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// TestClusterRecipes checks that the recipes of docs/clusters.md are valid shell and YAML. It runs their commands, with
// the variables that their schedulers set, and compares the folder with that of the sweep on one machine.
func TestClusterRecipes(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../docs/clusters.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(data), "\n## Slurm\n")
	if !found {
		t.Fatal("no recipe of Slurm's")
	}
	blocks := codeBlock.FindAllStringSubmatch(text, -1)
	if len(blocks) < 5 {
		t.Fatalf("%d recipes", len(blocks))
	}
	parse := func(text string) (recipe map[string]any) {
		t.Helper()
		if err := yaml.Unmarshal([]byte(text), &recipe); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		return recipe
	}
	at := func(v any, path ...any) any {
		t.Helper()
		for _, key := range path {
			switch key := key.(type) {
			case string:
				v = v.(map[string]any)[key]
			case int:
				v = v.([]any)[key]
			}
		}
		return v
	}
	slurm, submit := blocks[0][2], blocks[1][2]
	job, actions, gitlab := parse(blocks[2][2]), parse(blocks[3][2]), parse(blocks[4][2])
	array := regexp.MustCompile(`--array=1-(\d+)`).FindStringSubmatch(slurm)
	if array == nil || !strings.HasPrefix(submit, "sbatch --wait intensity.sbatch && ") {
		t.Fatalf("%s\n%s", slurm, submit)
	}

	local, _ := recipeFolder(t)
	sh(t, local, nil, "./pausenet sweep intensity.yaml")

	recipes := map[string]func(dir string){
		"Slurm": func(dir string) {
			n, _ := strconv.Atoi(array[1])
			for i := 1; i <= n; i++ {
				sh(t, dir, []string{
					"SLURM_ARRAY_TASK_ID=" + strconv.Itoa(i), "SLURM_ARRAY_TASK_COUNT=" + array[1],
					"SLURM_CPUS_PER_TASK=1",
				}, slurm)
			}
			sh(t, dir, nil, strings.TrimPrefix(submit, "sbatch --wait intensity.sbatch && "))
		},
		"Kubernetes": func(dir string) {
			n := int(at(job, "spec", "completions").(uint64))
			if at(job, "spec", "completionMode") != "Indexed" {
				t.Error("the Job is not Indexed")
			}
			container := at(job, "spec", "template", "spec", "containers", 0)
			for i := range n {
				line := []string{"pausenet"}
				for _, arg := range at(container, "args").([]any) {
					// The kubelet puts the variable in; there is no shell.
					word := strings.ReplaceAll(arg.(string), "$(JOB_COMPLETION_INDEX)", strconv.Itoa(i))
					line = append(line, strings.TrimPrefix(word, "/sweep/"))
				}
				sh(t, dir, nil, strings.Join(line, " "))
			}
			sh(t, dir, nil, "pausenet sweep merge results/sweep-intensity-shard-*-of-4")
		},
		"GitHub": func(dir string) {
			for _, shard := range at(actions, "jobs", "shard", "strategy", "matrix", "shard").([]any) {
				run := at(actions, "jobs", "shard", "steps", 1, "run").(string)
				sh(t, dir, nil, strings.ReplaceAll(run, "${{ matrix.shard }}", strconv.FormatUint(shard.(uint64), 10)))
			}
			sh(t, dir, nil, at(actions, "jobs", "merge", "steps", 1, "run").(string))
		},
		"GitLab": func(dir string) {
			n := int(at(gitlab, "shard", "parallel").(uint64))
			for i := 1; i <= n; i++ {
				sh(t, dir, []string{"CI_NODE_INDEX=" + strconv.Itoa(i), "CI_NODE_TOTAL=" + strconv.Itoa(n)},
					at(gitlab, "shard", "script", 0).(string))
			}
			sh(t, dir, nil, at(gitlab, "merge", "script", 0).(string))
		},
	}
	for name, make := range recipes {
		dir, _ := recipeFolder(t)
		make(dir)
		out, err := exec.Command("diff", "-r", "-x", "times.csv", filepath.Join(local, "results", "sweep-intensity"),
			filepath.Join(dir, "results", "sweep-intensity")).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: the folder is not the one of one machine\n%.2000s", name, err, out)
		}
	}
}

// recipeFolder returns a folder with the program and a sweep in it.
func recipeFolder(t *testing.T) (folder, pausenet string) {
	t.Helper()
	folder, pausenet = program(t)
	for name, text := range map[string]string{"intensity.yaml": smallSweep, "small.yaml": smallScenario} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder, pausenet
}

// sh runs a script in a folder that has the program.
func sh(t *testing.T, dir string, variables []string, script string) {
	t.Helper()
	c := exec.Command("sh", "-c", script)
	c.Dir = dir
	c.Env = append(append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH")), variables...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
}
