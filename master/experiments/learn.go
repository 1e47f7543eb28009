package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/search"
)

// Learn reads what the search of a configuration learns from the experiments that learn_from names, with a remark about each. An
// experiment that the caller may not see is like one that does not exist.
func Learn(ctx context.Context, db *database.DB, who auth.Who, cfg expconf.Config) (earlier search.Earlier, remarks []string, err error) {
	c, err := search.NewCollector(cfg)
	if err != nil {
		return earlier, nil, document.Wrong(err)
	}
	var problems document.Errors
	for i, id := range cfg.Searcher.LearnFrom {
		trials, why, err := pastTrials(ctx, db, who, cfg, id, c.Most())
		switch {
		case err != nil:
			return earlier, nil, err
		case why != "":
			wrong, _ := errors.AsType[document.Errors](cfg.Problem(document.Index("searcher.learn_from", i), why,
				"name experiments that you can see, with the same searcher.metric and smaller_is_better"))
			problems = append(problems, wrong...)
			continue
		}
		remarks = append(remarks, c.Add(id, trials))
	}
	if len(problems) > 0 {
		return earlier, nil, document.Wrong(problems)
	}
	return c.Earlier(), remarks, nil
}

// pastTrials returns the trials of an experiment from which a search can learn, or why it cannot learn from this experiment.
func pastTrials(ctx context.Context, db *database.DB, who auth.Who, cfg expconf.Config, id, most int) (list []search.PastTrial, why string, err error) {
	e, err := Get(ctx, db, id)
	switch {
	case fault.Is(err, fault.NotFound), err == nil && !auth.Can(who, auth.View, e.Object()):
		return nil, fmt.Sprintf("there is no experiment %d", id), nil
	case err != nil:
		return nil, "", err
	}
	if why := search.SamePurpose(cfg, e.Metric, e.SmallerIsBetter); why != "" {
		return nil, fmt.Sprintf("experiment %d %s", id, why), nil
	}
	past, err := expconf.ParseConfigJSON(e.Config)
	if err != nil {
		return nil, fmt.Sprintf("this release cannot read the configuration of experiment %d", id), nil //nolint:nilerr // the reason is what the caller can use
	}
	rows, err := listPast(ctx, db, e, past, pastLimits{trials: most, of: len(cfg.Searcher.LearnFrom)})
	return each.Of(rows, func(r pastRow) search.PastTrial {
		return search.PastTrial{HParams: r.HParams, Results: [search.Lengths]*float64{r.First, r.Second, r.Third, r.Whole}}
	}), "", err
}

// lengthOf returns how SQL computes the length of a training of an experiment from its steps:
// the length of one step, from hparams, those of the trial; and the length of a whole training, in the same unit.
func lengthOf(cfg expconf.Config) (steps string, full float64) {
	const batch = `CASE WHEN jsonb_typeof(hparams->'global_batch_size') = 'number' AND (hparams->>'global_batch_size')::numeric BETWEEN 1 AND 1e9
		THEN (hparams->>'global_batch_size')::float8 END`
	units, measure := cfg.Searcher.FullLength()
	full = math.Max(float64(units), 1)
	switch {
	case cfg.Searcher.MaxTime != nil:
		return `NULL`, full
	case measure == string(expconf.Records):
		return batch, full
	case measure == string(expconf.Epochs) && cfg.RecordsPerEpoch > 0:
		return batch + fmt.Sprintf(` / %d`, cfg.RecordsPerEpoch), full
	case measure == string(expconf.Epochs):
		return `NULL`, full
	}
	return `1`, full
}
