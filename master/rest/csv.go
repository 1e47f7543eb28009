package rest

import (
	"bytes"
	"context"
	"encoding/csv"

	"github.com/detent-ml/detent/master/quote"
	v1 "github.com/detent-ml/detent/master/v1"
)

// ServeCSV adds an endpoint that answers with a table; its first line has the names of the columns.
func ServeCSV[In any](r *Router, e v1.Endpoint[In, v1.None], fn func(ctx context.Context, c *Call, in *In) ([][]string, error)) {
	RawQuery(r, e, func(ctx context.Context, c *Call, in *In) error {
		if err := c.reading(); err != nil {
			return err
		}
		defer c.EndReading()
		lines, err := fn(r.LimitReads(ctx), c, in)
		if err != nil {
			return err
		}
		return c.sendCSV(lines)
	})
}

func (c *Call) sendCSV(lines [][]string) error {
	for _, line := range lines {
		for i, cell := range line {
			line[i] = quote.Cell(cell)
		}
	}
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(lines); err != nil {
		return err
	}
	c.Set("Content-Type", "text/csv")
	return c.SendBytes(b.Bytes())
}
