// Package models is the room of the model registry: models, and the checkpoints that are registered as their versions.
//
// It is a room of its own, beside that of checkpoints, because a registered checkpoint is a reference: a version has the checkpoint's UUID,
// and uses of a checkpoint only that it exists, who may view it and how it is shown. Garbage collection and the deletion of experiments and
// workspaces ask this room what is registered, so it is below them. The files, in the order in which one reads them:
//
//	models.go         the rules for the names, labels and texts of models and versions
//	rows.go           the rows of models
//	rows_versions.go  the rows of versions, and which checkpoints are registered
//	routes.go         the endpoints, what they use of other rooms, and the objects of paths
//	change.go         list, create and change models
//	versions.go       list, register and change versions
//	outside.go        what package mlflow uses
//
// This room is below those of experiments and checkpoints, which it does not import: Deps has what the endpoints
// ask of them. The statement that registers a version locks rows of experiments and checkpoints by their columns. The changes that clients of
// /stream follow are in package live, with those of projects.
package models

import (
	"strings"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
)

// checkName refuses names that an address could not hold, or that look like a number; nil is no name, for a change.
func checkName(given *string) error {
	name := optional.Value(given)
	switch {
	case given == nil:
		return nil
	case strings.TrimSpace(name) == "":
		return fault.New(fault.Invalid, "name: model names cannot be blank")
	case strings.Contains(name, "  "):
		return fault.New(fault.Invalid, "name: model names cannot have excessive spacing: there are two blanks in a row in %q", fault.Clip(name))
	case strings.ContainsAny(name, `/\`):
		return fault.New(fault.Invalid, "name: model names cannot have slashes: found one in %q", fault.Clip(name))
	case onlyDigits(name):
		return fault.New(fault.Invalid, "name: model names cannot be only numbers: %q would be read as the number of a model", fault.Clip(name))
	}
	return names.Check("name", name, names.MaxUnique)
}

func onlyDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// newLabels is checkLabels for a change; nil changes nothing.
func newLabels(labels *[]string) ([]string, error) {
	if labels == nil {
		return nil, nil
	}
	return checkLabels(*labels)
}

// checkLabels drops double labels and keeps their order, as Determined does.
func checkLabels(labels []string) ([]string, error) {
	out := rest.Distinct(labels)
	return out, names.CheckLabels(out)
}

// checkVersionName refuses a name that no list could show. A version needs no name.
func checkVersionName(name *string) error {
	if name == nil || *name == "" {
		return nil
	}
	return names.Check("name", *name, names.MaxText)
}
