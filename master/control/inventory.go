package control

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/store"
)

// inventories are what nodes have, read once for as long as their rows say the
// same: to read those of a thousand nodes takes longer than to place work on
// them. Nobody changes what is in it; cluster.SlotsOf and Node.Less copy.
type inventories map[string]inventory // by the node's id

type inventory struct {
	row  json.RawMessage
	node cluster.Node
}

// of the nodes that there are now; same says that they are those of before. What cannot
// be read is left out, and said by read when somebody needs it.
func (known inventories) of(rows []store.NodeRow) (now inventories, same bool) {
	now = make(inventories, len(rows))
	same = len(rows) == len(known)
	for _, row := range rows {
		if x, ok := known[row.ID]; ok && bytes.Equal(x.row, row.Inventory) {
			now[row.ID] = x
			continue
		}
		same = false
		if n, err := readInventory(row); err == nil {
			now[row.ID] = inventory{row.Inventory, n}
		}
	}
	return now, same
}

// read is the inventory of a node of these, or of any other.
func (known inventories) read(row store.NodeRow) (cluster.Node, error) {
	if x, ok := known[row.ID]; ok {
		return x.node, nil
	}
	return readInventory(row)
}

func readInventory(row store.NodeRow) (n cluster.Node, err error) {
	if err := json.Unmarshal(row.Inventory, &n); err != nil {
		return n, fmt.Errorf("inventory of node %s: %w", row.Name, err)
	}
	return n, nil
}
