package command

import (
	"github.com/spf13/cobra"
)

// commandGroup lists commands under one heading of the help.
type commandGroup struct {
	id, title string
	commands  []func() *cobra.Command
}

// commands returns constructors of commands, in the order of the help. A command is one file and one line here.
// liveCommands has those of live fabrics.
func commands() []commandGroup {
	return []commandGroup{
		{"experiments", "Run experiments and look at the results:", []func() *cobra.Command{
			newRunCommand,
			newReportCommand,
			newViewCommand,
			newWhyCommand,
			newSweepCommand,
			newCompareCommand,
			newBenchCommand,
			newSearchCommand,
			newTuneCommand,
			newBoundCommand,
			newEstimateCommand,
			newRerunCommand,
			newWorkerCommand,
		}},
		{"scenarios", "Write scenarios:", []func() *cobra.Command{
			newListCommand,
			newShowCommand,
			newValidateCommand,
			newSchemaCommand,
			newGraphCommand,
			newImportCommand,
			newCCCommand,
		}},
		{"networks", "Check and diagnose a real network:", []func() *cobra.Command{
			newCheckCommand,
			newAuditCommand,
			newDiagnoseCommand,
			newExpectCommand,
			newCountersCommand,
		}},
		{liveGroup, "Use live fabrics, on Linux:", liveCommands},
		{"more", "More:", []func() *cobra.Command{
			newLabCommand,
			newTrainCommand,
			newServeCommand,
			newMCPCommand,
			newDocsCommand,
			newDoctorCommand,
			newCleanCommand,
			newVersionCommand,
		}},
		{"", "", []func() *cobra.Command{newSweepPointCommand, newEnvCommand}}, // hidden
	}
}

// liveGroup holds the group ID of liveCommands.
const liveGroup = "live"

// Commands appear in the order of commands(). The setting is cobra's own, of all commands.
func init() { cobra.EnableCommandSorting = false }

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "pausenet",
		Short: "Lossless data-center fabrics on one machine, in virtual time",
		// Bug reports and manifests need it.
		Version: version(),
		Long: `pausenet is Mininet for lossless data-center fabrics (RoCE, PFC, ECN). It builds
switches and RDMA NICs on one machine, sends real frames through real switch
pipelines, and runs experiments in virtual time: the same scenario and seed give
the same results, byte for byte, on any machine.`,
		Example: `  pausenet run incast                 run an incast under PFC and DCQCN
  pausenet view dcon-burst            watch a run in a browser
  pausenet list                       list the built-in scenarios
  pausenet show incast --source > mine.yaml
  pausenet run mine.yaml --cc all     run your own file, all controllers
  sudo pausenet up                    open a shell on a live fabric`,
		Annotations: map[string]string{moreHelp: `Every flag can also be set by an environment variable (PAUSENET_OUT for --out)
or in the configuration file (out: FOLDER).

Exit codes:
  0  success
  1  a run failed its checks or was interrupted, or a line of a shell failed
  2  wrong usage, or a mistake in a file
  3  the machine lacks something, such as root or disk space
exec exits with its program's code. run --watch and compare exit with 130 after
Ctrl-C, and with 143 after SIGTERM. compare exits with 1 if A is worse, and with
125 if a build cannot run the scenario.`},
		// main prints errors without the usage text: most are not about flags.
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(c *cobra.Command, _ []string) error { return runBare(c) },
	}
	addVersionFlag(root)
	root.SetFlagErrorFunc(flagError)
	root.Args = unknownCommand
	var config string
	root.PersistentFlags().StringVar(&config, "config", "",
		"configuration `file` (default: pausenet/config.yaml in your configuration folder)")
	_ = root.MarkPersistentFlagFilename("config", "yaml", "yml")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return applyConfiguration(c, config) }
	root.SetUsageFunc(writeHelpUsage)
	for _, group := range commands() {
		if group.id != "" && len(group.commands) > 0 {
			root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		}
		for _, command := range group.commands {
			c := command()
			c.GroupID = group.id
			if group.id != liveGroup {
				endOnSignals(c)
			}
			withUsage(c)
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID("more")
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Short = "Print the help of a command"
			c.Long = "Print the help of a command, as pausenet COMMAND --help does."
			c.Example = "  pausenet help run\n  pausenet help lab grade"
		}
	}
	root.SetCompletionCommandGroupID("more")
	return root
}
