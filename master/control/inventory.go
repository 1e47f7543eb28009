package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unique"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/nodes"
)

// inventories caches the parsed inventories (resources and attributes) of nodes, until their
// rows change: to parse those of a thousand nodes takes longer than to schedule. The nodes
// must not be modified; cluster.SlotsOf and Node.Less copy.
type inventories map[string]inventory // by node id

type inventory struct {
	row    json.RawMessage
	node   cluster.Node
	models map[string][]model // by the name of the device, in the order of their names
}

// A model is the devices of one model on a node. Nodes with the same devices have the same handle, so that what was found
// out for one of them counts for all.
type model struct {
	name   string
	handle unique.Handle[string]
}

func deviceModels(n *cluster.Node) map[string][]model {
	out := make(map[string][]model, len(n.Models))
	for device, all := range n.Models {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			text := name
			for _, attribute := range slices.Sorted(maps.Keys(all[name])) {
				text += "\x00" + attribute + "\x00" + all[name][attribute]
			}
			out[device] = append(out[device], model{name, unique.Make(text)})
		}
	}
	return out
}

// of returns the inventories of these rows; same says that none has changed. It leaves out
// nodes whose rows cannot be parsed, for which read returns the error.
func (known inventories) of(rows []nodes.Row) (now inventories, same bool) {
	now = make(inventories, len(rows))
	same = len(rows) == len(known)
	for _, row := range rows {
		if x, ok := known[row.ID]; ok && bytes.Equal(x.row, row.Inventory) {
			now[row.ID] = x
			continue
		}
		same = false
		if n, err := readInventory(row); err == nil {
			now[row.ID] = inventory{row.Inventory, n, deviceModels(&n)}
		}
	}
	return now, same
}

// read returns the inventory of a node, from the cache or from its row.
func (known inventories) read(row nodes.Row) (cluster.Node, error) {
	if x, ok := known[row.ID]; ok {
		return x.node, nil
	}
	return readInventory(row)
}

// devices returns the models of a node that read has returned.
func (known inventories) devices(id string, n *cluster.Node) map[string][]model {
	if x, ok := known[id]; ok {
		return x.models
	}
	return deviceModels(n)
}

func readInventory(row nodes.Row) (n cluster.Node, err error) {
	if err := json.Unmarshal(row.Inventory, &n); err != nil {
		return n, fmt.Errorf("inventory of node %s: %w", row.Name, err)
	}
	return n, nil
}
