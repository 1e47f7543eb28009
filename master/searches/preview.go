package searches

import (
	"context"
	"encoding/json"
	"math/rand/v2"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/search"
	v1 "github.com/detent-ml/detent/master/v1"
)

// preview returns the plan of a search, if no trial fails.
func (d Deps) preview(ctx context.Context, c *rest.Call, req *v1.PreviewHPSearchRequest) (*v1.PreviewHPSearchResponse, error) {
	raw, _, err := expconf.Parse("config", req.Config)
	if err != nil {
		return nil, document.Wrong(err)
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Seed: rand.Uint32(), Name: "preview"})
	if err != nil {
		return nil, document.Wrong(err)
	}
	if err := search.Check(cfg); err != nil {
		return nil, document.Wrong(err)
	}
	if len(cfg.Searcher.LearnFrom) > 0 {
		if _, _, err := experiments.Learn(ctx, d.DB, c.Who(), cfg); err != nil {
			return nil, err
		}
	}
	all, err := cfg.Shown(true)
	if err != nil {
		return nil, err
	}
	var shown struct {
		Searcher json.RawMessage `json:"searcher"`
	}
	if err := json.Unmarshal(all, &shown); err != nil {
		return nil, err
	}
	sum := &v1.SearchSummary{Config: v1.Struct(shown.Searcher)}
	for _, s := range search.Preview(cfg) {
		name, value := s.Name, int(s.Units)
		u := v1.SearchUnit{MaxLength: s.Whole}
		if value > 0 {
			u.Name, u.Value = &name, &value
		}
		sum.Trials = append(sum.Trials, v1.TrialSummary{Count: s.Trials, Unit: u})
	}
	return &v1.PreviewHPSearchResponse{Summary: sum}, nil
}
