package render

import (
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/v1"
)

// Projects is a table of projects.
func Projects(projects []v1.Project) *table.Table {
	t := table.New("ID", "Key", "Name", "Description", "# Experiments", "# Active Experiments")
	for _, p := range projects {
		t.Row(p.ID, p.Key, p.Name, p.Description, p.NumExperiments, p.NumActiveExperiments)
	}
	return t
}
