package control

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/nodes"
)

// TestInventoriesFollowTheirRows tests that a parsed inventory is cached until its row changes.
func TestInventoriesFollowTheirRows(t *testing.T) {
	row := func(id, inventory string) nodes.Row {
		return nodes.Row{ID: id, Name: "node " + id, Inventory: json.RawMessage(inventory)}
	}
	cores := func(known inventories, r nodes.Row) int {
		t.Helper()
		n, err := known.read(r)
		if err != nil {
			t.Fatal(err)
		}
		return n.Cores
	}
	a, b := row("a", `{"Cores": 4}`), row("b", `{"Cores": 8}`)
	var known inventories
	known, _ = known.of([]nodes.Row{a, b})
	if len(known) != 2 || cores(known, a) != 4 || cores(known, b) != 8 {
		t.Errorf("at first: %+v", known)
	}
	kept := known["a"]
	a.Inventory, b.Inventory = json.RawMessage(`{"Cores": 4}`), json.RawMessage(`{"Cores": 16}`)
	known, _ = known.of([]nodes.Row{a, b})
	if &known["a"].row[0] != &kept.row[0] {
		t.Error("an inventory that has not changed was parsed again")
	}
	if got := cores(known, b); got != 16 {
		t.Errorf("after the row changed: %d cores", got)
	}
	if got := cores(known, row("c", `{"Cores": 2}`)); got != 2 {
		t.Errorf("a node that is not among them: %d cores", got)
	}
	known, _ = known.of([]nodes.Row{row("b", `{"Cores": "many"}`)})
	if _, kept := known["a"]; kept {
		t.Error("a node that is gone is still known")
	}
	if _, err := known.read(row("b", `{"Cores": "many"}`)); err == nil || !strings.Contains(err.Error(), "node b") {
		t.Errorf("an inventory that cannot be read: %v", err)
	}
}
