package control

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/control/rows"
)

// unhealthyDevices describes the unhealthy devices of an attempt, for the message about the
// attempt's failure: the device and not the program may have caused the failure. Nomad
// learns of an unhealthy device some seconds late, so the description may lack the newest.
func (p *Snapshot) unhealthyDevices(a *rows.LiveAllocation) string {
	held := map[string]string{} // node by device
	for _, m := range a.Members {
		for _, id := range m.Devices {
			held[id] = m.NodeID
		}
	}
	if len(held) == 0 {
		return ""
	}
	var list []string
	for _, row := range p.Nodes {
		n, err := p.inventories.read(row)
		if err != nil {
			continue // the scheduling reports this error
		}
		for _, devices := range n.Devices {
			for _, s := range devices {
				if held[s.Device] == row.ID && !s.Healthy {
					list = append(list, fmt.Sprintf("%s of node %s is out of use: %s", s.Device, row.Name, cmp.Or(s.Health, "Nomad gives no reason")))
				}
			}
		}
	}
	return strings.Join(list, "; ")
}
