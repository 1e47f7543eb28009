package searches

import (
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/search"
)

// TestTheLeastRecentlyUsedSearchGoes: a master has a limited number of searches in memory.
func TestTheLeastRecentlyUsedSearchGoes(t *testing.T) {
	w := rowtest.New(t)
	d := NewDriven(w.DB, 0)
	raw, _, err := expconf.Parse("x", []byte("name: x\nentrypoint: x\nsearcher: {name: custom, metric: loss, unit: batches}\n"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Seed: 1, Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	config, err := cfg.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var ids []int
	for range MaxDriven + 1 {
		id := w.Experiment(rowtest.LossSearcher)
		w.Exec(`UPDATE experiments SET config = $2::text::jsonb WHERE id = $1`, id, string(config))
		w.Exec(`INSERT INTO search_counters (experiment_id) VALUES ($1)`, id)
		if err := d.with(t.Context(), id, func(s *search.Search, state string) error { return nil }); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if n := len(d.kept); n != MaxDriven {
		t.Errorf("%d searches are kept; %d at most", n, MaxDriven)
	}
	if d.kept[ids[0]] != nil {
		t.Error("the least recently used search is still in memory")
	}
	if d.kept[ids[1]] == nil || d.kept[ids[MaxDriven]] == nil {
		t.Error("a search that was used later has gone")
	}
}
