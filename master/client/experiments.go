package client

import (
	"context"
	"iter"

	v1 "github.com/detent-ml/detent/master/v1"
)

// CreateExperiment submits an experiment. Progress, which may be nil, is called with the
// numbers of sent and of all bytes.
func (c *Client) CreateExperiment(ctx context.Context, req v1.CreateExperimentRequest, progress func(sent, total int64)) (*v1.CreateExperimentResponse, error) {
	body, err := v1.Marshal(req)
	if err != nil {
		return nil, err
	}
	k := callOf(v1.CreateExperiment)
	k.body = body
	if progress != nil {
		k.progress = func(sent int64) { progress(sent, int64(len(body))) }
	}
	var out v1.CreateExperimentResponse
	return &out, c.do(ctx, k, &out)
}

// ModelDef returns the code of an experiment, a gzipped tar.
func (c *Client) ModelDef(ctx context.Context, id int) ([]byte, error) {
	var out modelDef
	err := c.do(ctx, callOf(v1.GetModelDef, id), &out)
	return out.B64Tgz, err
}

// modelDef is GetModelDefResponse with decoded base64.
type modelDef struct {
	B64Tgz []byte `json:"b64Tgz"`
}

// SearchExperiments lists the experiments that a filter selects, with their best trials. The
// limit and offset of the request are those of the page.
func (c *Client) SearchExperiments(ctx context.Context, req v1.SearchExperimentsRequest, page Page) iter.Seq2[v1.SearchExperimentExperiment, error] {
	return pages(ctx, page, func(ctx context.Context, p Page) ([]v1.SearchExperimentExperiment, v1.Pagination, error) {
		req.Limit, req.Offset = &p.Limit, &p.Offset
		out, err := Send(ctx, c, v1.SearchExperiments, req)
		return out.Experiments, out.Pagination, err
	})
}

// Columns lists the columns by which the experiments of all projects can be searched.
func (c *Client) Columns(ctx context.Context) ([]v1.ProjectColumn, error) {
	const all = 0 // projects
	out, err := Send(ctx, c, v1.ListProjectColumns, v1.GetProjectColumnsRequest{}, all)
	return out.Columns, err
}
