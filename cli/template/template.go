// Package template is det template: configurations that others are laid over. A
// file per verb.
package template

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
)

// New is det template.
func New(a *app.App) *cobra.Command {
	return noun.New("template", "manage templates: defaults for configurations", []string{"tpl"}, newList(a),
		newDescribe(a), newCreate(a), newSet(a),
		noun.New("set-value", "change the name or the configuration of a template", nil, nil, newSetConfig(a), newSetName(a)),
		newRemove(a))
}
