package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// fileFlags lists flags that take the name of a file, existing or new.
var fileFlags = []string{
	"view --export", "report --out", "graph --out", "import hpcc --out", "import sonic --out", "import clab --out",
	"write", "events", "bench --out", "topology", "flow", "cdf", "config", "creds", "import sonic --lookup", "check headroom --lookup",
	"audit --baseline", "audit --write-baseline",
	"train lstm --out", "train pid --out", "train cells --out", "train features --out", "train loop --out",
	"teacher", "lab teacher --archive", "check deadlock --certificate", "expect --nccl", "diagnose --truth",
	"teacher", "lab teacher --archive", "serve --socket",
}

// TestFlagsComplete checks that every flag with a value completes to suitable words, except those that take files.
func TestFlagsComplete(t *testing.T) {
	n := 0
	var check func(c *cobra.Command, path string)
	check = func(c *cobra.Command, path string) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if strings.HasPrefix(f.Value.Type(), "bool") || slices.Contains(fileFlags, f.Name) ||
				slices.Contains(fileFlags, path+" --"+f.Name) {
				return
			}
			n++
			if _, found := c.GetFlagCompletionFunc(f.Name); !found {
				t.Errorf("%s --%s completes to files", path, f.Name)
			}
		})
		for _, sub := range c.Commands() {
			check(sub, strings.TrimSpace(path+" "+sub.Name()))
		}
	}
	check(newRootCommand(), "")
	if n < 20 {
		t.Errorf("%d flags", n)
	}
}

// TestCompletions asks for completions as the shells' scripts do.
func TestCompletions(t *testing.T) {
	for _, c := range []struct {
		args      string // a command line whose last word is incomplete; _ stands for an empty word
		words     string // some of the words offered; the shell filters them by the incomplete word
		directive string // cobra's: 4 no files, 6 nor a blank, 16 folders
		without   string // a word that is not
	}{
		{"sweep dcon-burst --metrics fct_p", "fct_p50 fct_p95 fct_p99", ":6", ""},
		{"sweep dcon-burst --metrics fct_mean,slowdown_p", "fct_mean,slowdown_p50 fct_mean,slowdown_p99", ":6", "fct_mean"},
		{"sweep dcon-burst --metrics drops,dro", "", ":6", "drops,drops"},
		{"sweep dcon-burst --cc dcqcn,dco", "dcqcn,dcon dcqcn,timely", ":6", "dcqcn,dcqcn"},
		{"run deadlock --cc watch", "watchdog", ":6", ""},
		{"run --cc al", "all", ":6", ""},
		{"run dcon-burst --pcap L2:", "L2:S1", ":6", ""},
		{"run dcon-burst --figures=svg,", "svg,png svg,csv", ":6", "svg,svg"},
		{"run dcon-burst --export _", "hpcc", ":4", ""},
		{"run dcon-burst --out _", "", ":16", ""},
		{"run dcon-burst --set _", "switch.pfc.xoff= switch.cnm.mark= host.ack_every=", ":6", ""},
		{"run dcon-burst --plane w", "wasm", ":4", ""},
		{"list --cc hp", "hpcc", ":4", ""},
		{"train lstm --plane k", "kernel", ":4", ""},
	} {
		args := append([]string{"__complete"}, strings.Fields(c.args)...)
		if last := &args[len(args)-1]; *last == "_" {
			*last = ""
		}
		out, errs, code := command(args...)
		lines := strings.Fields(out)
		if code != exitFine || len(lines) == 0 || lines[len(lines)-1] != c.directive {
			t.Errorf("%s: %d %s\n%s", c.args, code, errs, out)
			continue
		}
		for _, word := range strings.Fields(c.words) {
			if !slices.Contains(lines, word) {
				t.Errorf("%s does not offer %s:\n%s", c.args, word, out)
			}
		}
		if c.without != "" && slices.Contains(lines, c.without) {
			t.Errorf("%s offers %s:\n%s", c.args, c.without, out)
		}
	}
}
