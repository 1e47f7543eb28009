package searches

import (
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB     *database.DB
	Bus    *database.Bus
	Memory *experiments.Memory
	Driven *Driven
}

// Routes adds the endpoints of searches.
func Routes(r *rest.Router, d Deps) {
	reporting, head := experiments.OnReportingTrial(d.DB), experiments.OnHead(d.DB)
	rest.ServeOn(r, v1.GetSearcherOperation, reporting, d.searcherOperation)
	rest.ServeOn(r, v1.CompleteSearcherOperation, reporting, d.completedOperation)
	rest.ServeOn(r, v1.GetSearcherEvents, head, d.searcherEvents)
	rest.ServeOn(r, v1.PostSearcherOperations, experiments.On(d.DB), d.searcherOperations)
	rest.ServeOn(r, v1.GetSearchNews, head, d.searchNews)
	rest.ServeOn(r, v1.PostSearchProposals, experiments.On(d.DB), d.searchProposals)
	rest.ServeOn(r, v1.ListSearchTrials, head, d.listTrials)
	rest.Serve(r, v1.PreviewSearch, d.preview)
}
