package command

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/analysis/audit"
	"github.com/pausenet/pausenet/experiments/analysis/headroom"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/units"
)

// Formats of audit beside the usual ones.
const (
	formatMarkdown = "markdown"
	formatSARIF    = "sarif"
)

// auditFlags holds the options of audit.
type auditFlags struct {
	format, response, cell, baseline, accept, scenarios, failOn string
	losslessMTU                                                 int
	run                                                         bool
}

func newAuditCommand() *cobra.Command {
	var f auditFlags
	c := &cobra.Command{
		Use:   "audit FILE|DIR...",
		Short: "Find mistakes in the configuration of switches and NICs",
		Long: `Read the configurations of switches, NICs and cables, and print settings that
drop lossless frames, spread PAUSE without need, or disable congestion
control. Each finding has its place, the arithmetic, a remedy and, where a run
can show it, a scenario.

  switches  SONiC: config_db.json, or rendered buffers.json and qos.json,
            pg_profile_lookup.ini, port_config.ini, switch.json
            Arista EOS: running-config, or NAME.cfg
            Cumulus: nv config show, as NAME.yaml; Junos: NAME.conf
  NICs      output of mlnx_qos -i, dcb pfc show, dcb app show, cma_roce_tos,
            ethtool, ethtool --show-fec, ip link; cnp_dscp, cnp_802p_prio
  cables    lldpcli show neighbors -f json, containerlab's NAME.clab.yml,
            minigraph.xml, ibnetdiscover; Slurm's topology.conf, to compare

A file belongs to the device that its name starts with (leaf0.config_db.json,
h0.mlnx_qos), or else to the device that its folder is named after. Files about
cables refer to a switch by its hostname.

The exit code is 0 without findings of the severity of --fail-on or above, and
otherwise 1.`,
		Example: `  pausenet audit examples/audit
  pausenet audit leaf0/config_db.json --response 802.3 -o json
  pausenet audit fabric/ --write-baseline known.json
  pausenet audit fabric/ --baseline known.json -o sarif > audit.sarif`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.audit(c, args) },
	}
	flags := c.Flags()
	flags.StringVar(&f.response, "response", "none", "`time` that hardware takes to send and obey PAUSE, or 802.3")
	flags.StringVar(&f.cell, "cell", "0B", "`size` of the ASICs' cells, such as 254B (default: count bytes)")
	flags.IntVar(&f.losslessMTU, "lossless-mtu", 1024,
		"payload of lossless packets in `bytes`, for switches whose files do not state it")
	flags.StringVar(&f.baseline, "baseline", "", "ignore the findings in this `file`")
	flags.StringVar(&f.accept, "write-baseline", "", "write a `file` that accepts all findings")
	flags.StringVar(&f.scenarios, "scenarios", "", "write the findings' scenarios into this `folder`")
	flags.BoolVar(&f.run, "run", false, "run the findings' scenarios")
	flags.StringVar(&f.failOn, "fail-on", audit.Warning.String(),
		"least `severity` for exit code 1: note, warning, error or never")
	completeNothing(c, "response", "cell", "lossless-mtu")
	completeFolder(c, "scenarios")
	completeFlag(c, "fail-on", "note", "warning", "error", "never")
	formatFlag(c, &f.format, formatMarkdown, formatSARIF)
	return c
}

// audit audits the configurations in args. It prints the report, or writes a baseline (--write-baseline).
func (f *auditFlags) audit(c *cobra.Command, args []string) error {
	if err := excludes(c, "write-baseline", "baseline", "scenarios", "run", "fail-on"); err != nil {
		return err
	}
	least, err := f.severity()
	if err != nil {
		return badInput(err)
	}
	assume, err := f.assumptions()
	if err != nil {
		return badInput(err)
	}
	list, skipped, err := readConfigurations(args)
	if err != nil {
		return badInput(err)
	}
	r, err := audit.Audit(list, assume)
	if err != nil {
		return badInput(err)
	}
	r.Ignored = append(r.Ignored, skipped...)
	for _, name := range r.Ignored {
		for _, arg := range args {
			if filepath.ToSlash(arg) == name {
				return badInput(fmt.Errorf("%s: unknown format (see pausenet audit --help for the known ones)", name))
			}
		}
	}
	if f.accept != "" {
		data, err := r.Baseline()
		if err != nil {
			return err
		}
		return writeError(files.WriteWhole(f.accept, data))
	}
	if f.baseline != "" {
		data, err := files.Input(f.baseline, auditedFile)
		if err == nil {
			if err = r.Accept(data); err != nil {
				err = fmt.Errorf("%s: %w", f.baseline, err)
			}
		}
		if err != nil {
			return badInput(err)
		}
	}
	if f.run {
		ctx, release := shutdown.Context(c.Context())
		defer release()
		if err := runFindings(ctx, r); ctx.Err() != nil {
			fmt.Fprintln(c.ErrOrStderr(), "interrupted: the other findings' scenarios were not run (write them with "+
				"--scenarios, and run them)")
		} else if err != nil {
			return err
		}
	}
	if err := f.writeScenarios(r); err != nil {
		return err
	}
	if err := f.write(c, r); err != nil {
		return err
	}
	if worst, any := r.Worst(); any && worst >= least {
		return &exitError{exitVerdict, fmt.Errorf("findings of severity %s or above (fix them, or change --fail-on)", least)}
	}
	return nil
}

// severity parses --fail-on.
func (f *auditFlags) severity() (audit.Severity, error) {
	for _, s := range []audit.Severity{audit.Note, audit.Warning, audit.Error} {
		if f.failOn == s.String() {
			return s, nil
		}
	}
	if f.failOn == "never" {
		return audit.Error + 1, nil
	}
	return 0, fmt.Errorf("--fail-on %s: expected note, warning, error or never", f.failOn)
}

// assumptions parses the flags for values that configurations may not state.
func (f *auditFlags) assumptions() (a audit.Assumptions, err error) {
	response, err := headroom.ParseResponse(f.response)
	if err != nil {
		return a, fmt.Errorf("--response %s: %w", f.response, err)
	}
	a.Response = response.At
	if a.Cell, err = units.ParseBytes(f.cell); err != nil || a.Cell < 0 || a.Cell > 64*units.KB {
		return a, fmt.Errorf("--cell %s: expected a size up to 64KB, such as 254B", f.cell)
	}
	if a.LosslessMTU = f.losslessMTU; a.LosslessMTU < 64 || a.LosslessMTU > 9216 {
		return a, fmt.Errorf("--lossless-mtu %d: expected 64 to 9216 bytes", a.LosslessMTU)
	}
	return a, nil
}

// auditedFile limits the size of each file, mostAudited the number of files, and mostAuditedBytes their total size.
var auditedFile = files.Kind{Name: "a configuration", Most: 64 << 20}

const (
	mostAudited      = 20_000
	mostAuditedBytes = 1 << 30
)

// readConfigurations reads the named files, and all files below the named folders except hidden ones. It follows links
// to files, and skips links to folders, pipes and devices.
func readConfigurations(names []string) (list []audit.File, skipped []string, err error) {
	bytes := 0
	add := func(path string) error {
		data, err := files.Input(path, auditedFile)
		if err != nil {
			return err
		}
		list = append(list, audit.File{Name: filepath.ToSlash(path), Data: data})
		if bytes += len(data); len(list) > mostAudited || bytes > mostAuditedBytes {
			return fmt.Errorf("%s: more than %d files, or %d MB (name the folders with configurations)", path, mostAudited,
				mostAuditedBytes>>20)
		}
		return nil
	}
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			if err := add(name); err != nil {
				return nil, nil, err
			}
			continue
		}
		err := filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case path != name && strings.HasPrefix(d.Name(), "."):
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			case d.IsDir():
				return nil
			}
			info, err := os.Stat(path) // follows a link
			if err != nil {
				return err
			}
			if !info.Mode().IsRegular() {
				skipped = append(skipped, filepath.ToSlash(path))
				return nil
			}
			return add(path)
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return list, skipped, nil
}

// runFindings runs the scenario of each finding. Equal scenarios run once.
func runFindings(ctx context.Context, r *audit.Report) error {
	done := map[string]*audit.Run{}
	for _, f := range r.Findings {
		if f.Scenario == "" {
			continue
		}
		if done[f.Scenario] == nil {
			s, err := scenario.Parse("finding.yaml", []byte(f.Scenario), nil)
			if err != nil {
				return fmt.Errorf("the scenario of %v: %w", f.Place, err)
			}
			sum, err := runner.Watch(ctx, s, runner.Options{Controller: s.Controllers[0], Seed: s.Seed}, runner.Watching{})
			if err != nil {
				return err
			}
			done[f.Scenario] = &audit.Run{
				Dropped: sum.Drops.Lossless, All: sum.Drops.Frames, Pauses: sum.PFC.Pauses, Marks: sum.ECNMarks,
				Fingerprint: sum.Fingerprint,
			}
		}
		f.Run = done[f.Scenario]
	}
	return nil
}

// writeScenarios writes the findings' scenarios for --scenarios, each once.
func (f *auditFlags) writeScenarios(r *audit.Report) error {
	if f.scenarios == "" {
		return nil
	}
	folder, err := files.OpenFolder(f.scenarios, f.scenarios)
	if err != nil {
		return writeError(err)
	}
	defer func() { _ = folder.Close() }()
	for _, of := range r.Findings {
		if of.Scenario == "" {
			continue
		}
		if err := folder.Write(of.ScenarioName(), []byte(of.Scenario)); err != nil {
			return writeError(err)
		}
		of.View = "pausenet view " + quoted(filepath.ToSlash(filepath.Join(f.scenarios, of.ScenarioName())))
	}
	return nil
}

// write prints the report.
func (f *auditFlags) write(c *cobra.Command, r *audit.Report) error {
	w := c.OutOrStdout()
	switch f.format {
	case formatMarkdown:
		return r.Markdown(w)
	case formatSARIF:
		return writeJSON(w, r.SARIF(version()))
	case formatTable:
		return r.Text(w)
	}
	return writeStructured(w, f.format, r)
}
