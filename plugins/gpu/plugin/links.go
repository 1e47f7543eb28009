package plugin

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/plugins/device"
	"github.com/hashicorp/nomad/plugins/shared/structs"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// linkedAttribute is the attribute of a model that names its linked devices: ids with commas between them, groups with
// semicolons between them. Nomad has no attributes of single devices.
const linkedAttribute = "linked"

// maxLinkedText bounds the attribute, because Nomad stores it with the node; the master reads no longer one.
const maxLinkedText = 8 << 10

// addLinks adds the groups of linked devices to the attributes of the models. A model whose devices are all in one group,
// or none of which are in one, has no such attribute: there is nothing to choose.
func (p *Plugin) addLinks(models []*device.DeviceGroup) {
	known := make(map[string]*gpus.Diagnosis, len(p.diagnoses))
	for i := range p.diagnoses {
		known[p.diagnoses[i].ID] = &p.diagnoses[i]
	}
	for _, m := range models {
		if text := linkedText(m.Devices, known); text != "" && len(text) <= maxLinkedText {
			m.Attributes[linkedAttribute] = structs.NewStringAttribute(text)
		}
	}
}

func linkedText(devices []*device.Device, known map[string]*gpus.Diagnosis) string {
	members := map[string][]string{} // by group
	first := map[string]string{}     // the first address on the bus
	for _, d := range devices {
		of := known[d.ID]
		if of.Group == "" {
			continue
		}
		members[of.Group] = append(members[of.Group], d.ID)
		if bus, seen := first[of.Group]; !seen || of.BusID < bus {
			first[of.Group] = of.BusID
		}
	}
	var groups []string
	for name, ids := range members {
		if len(ids) == len(devices) {
			return ""
		}
		if len(ids) > 1 {
			groups = append(groups, name)
		}
	}
	// Neighbours on the bus stay neighbours.
	slices.SortFunc(groups, func(a, b string) int { return cmp.Or(cmp.Compare(first[a], first[b]), cmp.Compare(a, b)) })
	return strings.Join(each.Of(groups, func(name string) string { return strings.Join(members[name], ",") }), ";")
}
