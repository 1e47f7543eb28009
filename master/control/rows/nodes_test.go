package rows

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/nodes"
)

// TestUnchangedNodesAreNotWritten tests that RecordNodes writes no rows of unchanged nodes: it
// runs every 15 s.
func TestUnchangedNodesAreNotWritten(t *testing.T) {
	w := newWorld(t)
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	list := []nodes.Row{
		{ID: "a", Name: "a", Status: "ready", Eligible: true, Inventory: []byte(`{"cores": 8, "devices": [1, 2]}`)},
		{ID: "b", Name: "b", Status: "ready", Draining: true, DrainDeadline: &at, Inventory: []byte(`{}`)},
	}
	versions := func() map[string]string {
		out := map[string]string{}
		for _, id := range []string{"a", "b"} {
			v, err := database.Scalar[string](t.Context(), w.DB, `SELECT xmin::text || '/' || xmax::text FROM nodes WHERE id = $1`, id)
			if err != nil {
				t.Fatal(err)
			}
			out[id] = v
		}
		return out
	}
	record := func() map[string]string {
		t.Helper()
		if err := RecordNodes(t.Context(), w.DB, "", list); err != nil {
			t.Fatal(err)
		}
		return versions()
	}
	first := record()
	if again := record(); again["a"] != first["a"] || again["b"] != first["b"] {
		t.Errorf("nothing changed, and %v became %v", first, again)
	}
	for _, change := range []struct {
		name string
		make func()
	}{
		{"status", func() { list[0].Status = "down" }},
		{"inventory", func() { list[0].Inventory = []byte(`{"cores": 9}`) }},
		{"deadline", func() { list[0].DrainDeadline = &at }},
		{"no deadline", func() { list[0].DrainDeadline = nil }},
		{"pool", func() { list[0].NodePool = "gpu" }},
	} {
		before := versions()
		change.make()
		if after := record(); after["a"] == before["a"] || after["b"] != before["b"] {
			t.Errorf("%s: %v became %v", change.name, before, after)
		}
	}
	list = list[:1]
	if err := RecordNodes(t.Context(), w.DB, "", list); err != nil {
		t.Fatal(err)
	}
	if n := w.Int(`SELECT count(*) FROM nodes`); n != 1 {
		t.Errorf("%d nodes", n)
	}
}
