package nodes_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestCounts: a remembered count accepts, and rejects nothing: whoever needs more than it has makes a new one.
func TestCounts(t *testing.T) {
	r := newRig(t)
	of := nodes.Inventory{DB: r.DB, Offer: offer, Pools: pool.Set{{Name: "default"}}}
	counts := &nodes.Counts{Of: of, For: 24 * time.Hour}
	has := func(atLeast, want int) {
		t.Helper()
		n, err := counts.PoolSlots(t.Context(), "default", func(n nodes.PoolSlots) bool { return n.Slots >= atLeast })
		if err != nil || n.Slots != want {
			t.Errorf("%d slots for %d, want %d: %v", n.Slots, atLeast, want, err)
		}
	}
	r.node("a", "a", 4)
	has(1, 4)
	r.node("b", "b", 4)
	has(4, 4) // as remembered
	has(5, 8) // not enough was remembered
	has(8, 8)
	if err := r.DB.Exec(t.Context(), `UPDATE nodes SET status = 'down'`); err != nil {
		t.Fatal(err)
	}
	has(8, 8)
	has(9, 0)
	has(1, 0)
	counts.For = 0
	if err := r.DB.Exec(t.Context(), `UPDATE nodes SET status = 'ready'`); err != nil {
		t.Fatal(err)
	}
	has(0, 8)
}

// BenchmarkPoolSlots: what a submission pays to know that it fits, on 1,000 nodes of 8 slots.
func BenchmarkPoolSlots(b *testing.B) {
	for what, remembered := range map[string]time.Duration{"counted": 0, "remembered": 24 * time.Hour} {
		b.Run(what, func(b *testing.B) {
			r := &rig{World: rowtest.New(b)}
			thousand(b, r.DB)
			counts := &nodes.Counts{Of: nodes.Inventory{DB: r.DB, Offer: offer}, For: remembered}
			for b.Loop() {
				n, err := counts.PoolSlots(b.Context(), "default", func(n nodes.PoolSlots) bool { return n.Slots >= 8 })
				if err != nil || n.Slots != 8_000 {
					b.Fatal(n, err)
				}
			}
		})
	}
}

// thousand adds 1,000 nodes with eight devices each.
func thousand(b *testing.B, db *database.DB) {
	b.Helper()
	var has struct{ Slots []sched.Slot }
	for i := range 8 {
		has.Slots = append(has.Slots, sched.Slot{ID: i, Brand: "NVIDIA A100-SXM4-80GB", Device: fmt.Sprintf("GPU-%036d", i), Healthy: true, Enabled: true})
	}
	inventory, err := json.Marshal(has)
	if err != nil {
		b.Fatal(err)
	}
	list := make([]nodes.Row, 1_000)
	for i := range list {
		list[i] = nodes.Row{ID: fmt.Sprint("node-", i), Name: fmt.Sprint("node-", i), NodePool: "default", Status: "ready", Eligible: true, Inventory: inventory}
	}
	if err := rows.RecordNodes(b.Context(), db, "", list); err != nil {
		b.Fatal(err)
	}
}
