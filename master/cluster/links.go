package cluster

import (
	"strings"

	"github.com/hashicorp/nomad/api"
)

// linkedAttribute is the attribute in which a device plugin names the devices of a model that are linked with each other, by
// NVLink for example: ids with commas between them, groups with semicolons between them (docs/gpu.md).
const linkedAttribute = "linked"

// maxLinked bounds the attribute. A longer one is ignored.
const maxLinked = 8 << 10

// linkGroups numbers the groups of linked devices of a model, from after+1 on, and returns the group of each device. It ignores
// ids that the model does not have, and groups with less than two devices. If a device is in two groups, the attribute
// contradicts itself, and linkGroups ignores it as a whole.
func linkGroups(model *api.NodeDeviceResource, after int) map[string]int {
	a := model.Attributes[linkedAttribute]
	if a == nil || a.StringVal == nil || len(*a.StringVal) > maxLinked {
		return nil
	}
	known := make(map[string]int, len(model.Instances)) // which group names a device: the first is 1
	for _, d := range model.Instances {
		if d != nil {
			known[d.ID] = 0
		}
	}
	groups := map[string]int{}
	at := 0
	for text := range strings.SplitSeq(*a.StringVal, ";") {
		at++
		var members []string
		for id := range strings.SplitSeq(text, ",") {
			id = strings.TrimSpace(id)
			switch in, has := known[id]; {
			case !has || in == at:
				continue
			case in != 0:
				return nil
			}
			known[id] = at
			members = append(members, id)
		}
		if len(members) < 2 {
			continue
		}
		after++
		for _, id := range members {
			groups[id] = after
		}
	}
	return groups
}
