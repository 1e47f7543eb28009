package api

import (
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/names"
)

// checkName rejects names that lists cannot show.
func checkName(what, name string, limit int) error {
	return names.Check(what, name, limit)
}

// checkText rejects descriptions and notes that are too long.
func checkText(what, text string) error {
	return names.CheckText(what, text)
}

// checkLabels rejects labels that lists cannot show, or that are too many or too long.
func checkLabels(labels []string) error {
	at, p := names.LabelProblem(labels)
	switch {
	case p == "":
		return nil
	case at < 0:
		return fault.New(fault.Invalid, "labels: %s", p)
	}
	return fault.New(fault.Invalid, "labels: the label %q %s", fault.Clip(labels[at]), p)
}
