package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/spelling"
	"github.com/detent-ml/detent/master/v1"
)

// warnUnknown warns about metrics and hyperparameters of a question that no experiment has, which is why it found none.
func warnUnknown(ctx context.Context, a *app.App, c *client.Client, f find.Filter) error {
	own := func(c find.Column) bool { return c.Location == find.Experiment }
	if !slices.ContainsFunc(f.Columns(), func(c find.Column) bool { return !own(c) }) {
		return nil
	}
	columns, err := c.Columns(ctx)
	if err != nil {
		return err
	}
	for _, text := range unknown(slices.DeleteFunc(f.Columns(), own), columns) {
		a.IO.Warn("Warning: %s", text)
	}
	return nil
}

// unknown says in a sentence for each asked column that it is none of the columns.
func unknown(asked []find.Column, columns []v1.ProjectColumn) (said []string) {
	var all []string
	for _, c := range columns {
		if name := short(c.Column); c.Location != string(find.Experiment) && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	for _, c := range asked {
		name := short(c.Name)
		if slices.Contains(all, name) {
			continue
		}
		text := fmt.Sprintf("no experiment has %s", name)
		if near := spelling.Nearest(name, all); near != "" {
			text += "; did you mean " + near + "?"
		}
		if !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	return said
}

// short is a column without the summary of a metric.
func short(name string) string {
	for _, summary := range []string{find.Last, find.Min, find.Max, find.Mean} {
		if rest, found := strings.CutSuffix(name, "."+summary); found {
			return rest
		}
	}
	return name
}
