package slot

import (
	"bytes"
	"testing"

	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/v1"
)

// TestLinkGroups: the table has a column with the link groups if there are any, and JSON names the group of a slot that is in one.
func TestLinkGroups(t *testing.T) {
	slot := func(id string, group int) v1.Slot { return v1.Slot{ID: id, ResourcePool: "gpu", LinkGroup: group} }
	linked := []v1.Agent{{ID: "n1", Slots: map[string]v1.Slot{"0": slot("0", 2), "1": slot("1", 0)}}}
	plain := []v1.Agent{{ID: "n1", Slots: map[string]v1.Slot{"0": slot("0", 0)}}}
	const headers = "Agent ID,Resource Pool,Slot ID,Enabled,Draining,Allocation ID,Task Name,Type,Device,Health"
	for _, test := range []struct {
		agents []v1.Agent
		format output.Format
		want   string
	}{
		{linked, output.Format{CSV: true}, headers + ",Link Group\r\nn1,gpu,0,False,False,FREE,FREE,unknown,,healthy,2\r\nn1,gpu,1,False,False,FREE,FREE,unknown,,healthy,\r\n"},
		{plain, output.Format{CSV: true}, headers + "\r\nn1,gpu,0,False,False,FREE,FREE,unknown,,healthy\r\n"},
	} {
		var out bytes.Buffer
		rows := list(test.agents, nil)
		if err := test.format.Print(&term.IO{Out: &out}, tableOf(rows), rows); err != nil || out.String() != test.want {
			t.Errorf("%v\n got %q\nwant %q", err, out.String(), test.want)
		}
	}
	for _, test := range []struct {
		agents []v1.Agent
		named  int
	}{{linked, 1}, {plain, 0}} {
		var out bytes.Buffer
		rows := list(test.agents, nil)
		if err := (output.Format{JSON: true}).Print(&term.IO{Out: &out}, tableOf(rows), rows); err != nil || bytes.Count(out.Bytes(), []byte(`"link_group": 2`)) != test.named ||
			bytes.Count(out.Bytes(), []byte("link_group")) != test.named {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
}
