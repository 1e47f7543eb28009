package report

import "encoding/json"

// NodeGroups are the groups of the reports about the nodes of a trial.
func NodeGroups() []string { return []string{"cpu", "disk", "gpu", "memory", "network"} }

// A NodeSeries is a metric of a node, or of a part of a node (a GPU, a disk).
type NodeSeries struct {
	Agent string
	Part  string // "": of the node itself
	Name  string
}

// maxNodeReport is the maximum number of bytes of a report about nodes. A longer one is a program's, about something else.
const maxNodeReport = 256 << 10

// OfNodes returns the numbers of a report about nodes, by their series.
func OfNodes(metrics json.RawMessage) map[NodeSeries]float64 {
	found := map[NodeSeries]float64{}
	add := func(s NodeSeries, v float64) {
		if len(s.Agent) <= MaxName && len(s.Part) <= MaxName && len(s.Name) <= MaxName {
			found[s] = v
		}
	}
	var agents map[string]map[string]json.RawMessage
	if len(metrics) > maxNodeReport || json.Unmarshal(metrics, &agents) != nil {
		return found
	}
	for agent, values := range agents {
		for key, raw := range values {
			if v, ok := Float(raw); ok {
				add(NodeSeries{Agent: agent, Name: key}, v)
				continue
			}
			var parts map[string]json.RawMessage
			if json.Unmarshal(raw, &parts) != nil {
				continue
			}
			for name, raw := range parts {
				if v, ok := Float(raw); ok {
					add(NodeSeries{Agent: agent, Part: key, Name: name}, v)
				}
			}
		}
	}
	return found
}
