package command

import (
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/lab"
	"github.com/pausenet/pausenet/internal/escape"
	"github.com/pausenet/pausenet/internal/shutdown"
)

func newLabTournamentCommand() *cobra.Command {
	var (
		exercise, teacher, format string
		o                         lab.TournamentOptions
	)
	c := &cobra.Command{
		Use:   "tournament SUBMISSIONS",
		Short: "Play the controllers of a class against each other",
		Long: `Play the controllers of a class against each other on one shared fabric. A
player's points are the product of three means:

  SHARED  a fair share of the link beside other controllers
  HOME    a full link with short waits if all flows are the player's
  QUIET   a full link for only two flows of the player

So a controller that never backs off does not win.

In each round, players meet other opponents at other places. Links, delays and
times differ between rounds. The seed decides them, and the result does not
depend on --jobs or on the order of submissions. A player whose program fails is
out. SUBMISSIONS is as for "lab grade".`,
		Example: `  pausenet lab tournament submissions
  pausenet lab tournament submissions --seed 7 --rounds 16 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := errors.Join(notEmpty(c, "exercise"), checkJobs(c, &o.Jobs), atLeastOne(c.Flags(), "rounds")); err != nil {
				return err
			}
			e, err := lab.LoadFor(exercise, "", teacher, "")
			if err != nil {
				return badInput(err)
			}
			scratch, err := os.MkdirTemp("", "pausenet-tournament-")
			if err != nil {
				return runError(err)
			}
			defer os.RemoveAll(scratch)
			found, _, err := lab.Collect(args[0], scratch)
			if err == nil && len(found) == 0 {
				err = fmt.Errorf("%s has no submissions (expected a folder or an archive for each student)", args[0])
			}
			if err != nil {
				return badInput(err)
			}
			ctx, stop := shutdown.Context(c.Context())
			defer stop()
			standings, err := e.Tournament(ctx, found, o)
			if errors.Is(err, lab.ErrNoTournament) {
				return badInput(err)
			}
			if err != nil {
				return runError(err)
			}
			if structured(format) {
				return writeStructured(c.OutOrStdout(), format, standings)
			}
			t := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "RANK\tSTUDENT\tPOINTS\tSHARED\tHOME\tQUIET\tPROBLEM")
			for i, s := range standings {
				fmt.Fprintf(t, "%d\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%s\n", i+1, escape.Line(s.Name), s.Points, s.Shared, s.Home,
					s.Quiet,
					escape.Line(s.Problem))
			}
			return t.Flush()
		},
		ValidArgsFunction: completeFolders,
	}
	flags := c.Flags()
	flags.StringVar(&exercise, "exercise", "tournament", "`name` or folder of the exercise")
	flags.StringVar(&teacher, "teacher", "",
		"`folder` or archive of a teacher's material, whose scenarios replace the exercise's")
	flags.Var((*seedFlag)(&o.Seed), "seed", "random `seed` of opponents, places, links and times")
	flags.IntVar(&o.Rounds, "rounds", 8,
		"`number` of rounds; in a multiple of 8, each player is at each place equally often")
	jobsFlag(c, &o.Jobs, "games")
	formatFlag(c, &format)
	completeList(c, "exercise", func([]string) []string { return lab.Names() })
	completeNothing(c, "seed", "rounds")
	return c
}
