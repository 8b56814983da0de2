package capture

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
)

// TestTsharkCredits: with one line of Lua tshark reads credit messages with its own dissector of InfiniBand links. It
// wants 62 bytes.
func TestTsharkCredits(t *testing.T) {
	needTshark(t)
	dir := t.TempDir()
	script := filepath.Join(dir, "credits.lua")
	lua := `DissectorTable.get("ethertype"):add(0x88b6, Dissector.get("infiniband_link"))` + "\n"
	if err := os.WriteFile(script, []byte(lua), 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "credits.pcapng")
	w := must[*Writer](t)(create(path))
	must[int](t)(w.AddPort("leaf0-eth1"))
	for fctbs := range uint16(4) { // the dissector looks at its last two bits as if a packet with addresses followed
		f := make([]byte, 62)
		wire.Ethernet(f).SetDst(wire.PFCMAC)
		wire.Ethernet(f).SetSrc(mac(9))
		wire.Ethernet(f).SetType(0x88b6)
		binary.BigEndian.PutUint16(f[14:], 0x120+fctbs)
		binary.BigEndian.PutUint16(f[16:], 3<<12|0xabc)
		if err := w.Write(0, 0, f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, line := range tshark(t, path, "-X", "lua_script:"+script, "-Y", "_ws.malformed || _ws.short") {
		t.Errorf("malformed: %s", line)
	}
	filter := "infiniband_link.op == 0 && infiniband_link.fctbs >= 0x120 && infiniband_link.vl == 3 && infiniband_link.fccl == 0xabc"
	if lines := tshark(t, path, "-X", "lua_script:"+script, "-Y", filter); len(lines) != 4 {
		t.Errorf("%d messages read: %q", len(lines), lines)
	}
}
