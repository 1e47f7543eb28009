package launch

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/tasks"
	"github.com/detent-ml/detent/master/workspaces"
)

// usedTemplate finds a template that somebody wants to use.
func usedTemplate(ctx context.Context, db *database.DB, who auth.Who, field, name string) (workspaces.Template, error) {
	t, err := workspaces.TemplateByName(ctx, db, name)
	if err == nil && !auth.Sees(who, t.Object()) || fault.Is(err, fault.NotFound) {
		return workspaces.Template{}, fault.New(fault.NotFound, "%s: there is no template %q; det template list shows all templates", field, fault.Clip(name))
	}
	return t, err
}

// overTemplate lays an experiment's document over the template's.
func overTemplate(raw expconf.Raw, warnings document.Warnings, t experiments.UsedTemplate) (expconf.Raw, document.Warnings, error) {
	if t.Name == "" {
		return raw, warnings, nil
	}
	under, more, err := expconf.Parse(workspaces.TemplateNamed(t.Name), []byte(t.Source))
	if err != nil {
		return raw, warnings, document.Wrong(err)
	}
	return expconf.Merge(raw, under), append(warnings, more...), nil
}

// commandOverTemplate does the same for a task of another kind. Slots and pool of a command, notebook or shell come from its own configuration alone, as in
// Determined: a template with the slots of a training must not make every notebook as large.
func commandOverTemplate(of tasks.Kind, raw expconf.RawCommand, warnings document.Warnings, t workspaces.Template) (expconf.RawCommand, document.Warnings, error) {
	if t.Name == "" {
		return raw, warnings, nil
	}
	under, more, err := expconf.ParseCommandTemplate(workspaces.TemplateNamed(t.Name), []byte(t.Source))
	if err != nil {
		return raw, warnings, document.Wrong(err)
	}
	for _, field := range []string{"slots", "resource_pool"} {
		if of.Slots == 0 { // a TensorBoard
			break
		}
		if expconf.Unset(&under.Resources, field) {
			more = append(more, document.Problem{File: workspaces.TemplateNamed(t.Name), Path: "resources." + field,
				Message: "has no effect on a " + of.Noun, Hint: "set it in the task's own configuration"})
		}
	}
	return expconf.MergeCommand(raw, under), append(warnings, more...), nil
}
