// Package template has the command det template: defaults for configurations. One file for each
// verb.
package template

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
)

// New returns the command det template.
func New(a *app.App) *cobra.Command {
	return noun.New("template", "manage templates: defaults for configurations", []string{"tpl"}, newList(a),
		newDescribe(a), newCreate(a), newSet(a),
		noun.New("set-value", "change the name or the configuration of a template", nil, nil, newSetConfig(a), newSetName(a)),
		newRemove(a))
}
