package control

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/store"
)

// unhealthyDevices says which devices of an attempt are out of use, and why: what failed on
// one may not be the program's fault, and who reads of the failure is to know. It is
// as much as Nomad knows by now, which hears of a device after some seconds.
func (p *Snapshot) unhealthyDevices(a *store.LiveAllocation) string {
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
			continue // it is said where nodes are placed on
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
