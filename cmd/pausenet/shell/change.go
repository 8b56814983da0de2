//go:build linux

package shell

// changeVerbs change the fabric while it runs.
var changeVerbs = []verb{
	{"link", "A B down|up", "take the links between two nodes down, or up; routes follow", (*Shell).link},
	{"set", "NODE.SETTING=VALUE", "change a switch's setting, such as leaf0.pfc.xoff=320KB; switch.… for all switches", (*Shell).set},
}

func (s *Shell) link(args []string) error {
	if len(args) != 3 || args[2] != "up" && args[2] != "down" {
		return errUsage
	}
	return s.Fabric.Link(args[0], args[1], args[2] == "up")
}

func (s *Shell) set(args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	return s.Fabric.Set(args[0])
}
