package launch

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
)

// learn begins a search that learns from earlier experiments, with what the submitter may see of them now.
func (l *Experiments) learn(ctx context.Context, who auth.Who, e *Experiment) error {
	switch {
	case len(e.Complete.Searcher.LearnFrom) == 0:
		return nil
	case e.Search == nil:
		e.Remarks = append(e.Remarks, "searcher.learn_from: has no effect, because the master proposes no hyperparameters for an unmanaged experiment")
		return nil
	}
	earlier, remarks, err := experiments.Learn(ctx, l.DB, who, e.Complete)
	if err != nil {
		return err
	}
	e.Remarks = append(e.Remarks, remarks...)
	if e.Learned, err = e.Search.Begin(earlier); err != nil {
		return fault.New(fault.Invalid, "searcher.learn_from: %w", err)
	}
	return nil
}
