package api

import (
	"context"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerTemplates() {
	rest.Serve(a.router, v1.ListTemplates, a.listTemplates)
	rest.ServeOn(a.router, v1.GetTemplate, a.onTemplate(), a.template)
	rest.Serve(a.router, v1.CreateTemplate, a.createTemplate)
	rest.ServeOn(a.router, v1.PutTemplate, a.onTemplateOrNew(), a.putTemplate)
	rest.ServeOn(a.router, v1.ChangeTemplate, a.onTemplate(), a.patchTemplate)
	rest.ServeOn(a.router, v1.DeleteTemplate, a.onTemplate(), a.deleteTemplate)
	rest.Serve(a.router, v1.RenameTemplate, a.renameTemplate)
}

// wireTemplate is a template as the caller may see it: without secrets for users who may not
// change it.
func wireTemplate(t store.Template, who auth.Who) (v1.Template, error) {
	shown := expconf.Template{Source: t.Source, Config: t.Config}
	if !auth.Can(who, auth.Change, ofTemplate(t)) {
		var err error
		if shown, err = shown.Redacted(); err != nil {
			return v1.Template{}, err
		}
	}
	return v1.Template{Name: t.Name, WorkspaceID: t.WorkspaceID, Config: shown.Config, Source: &shown.Source}, nil
}

func (a *API) listTemplates(ctx context.Context, c *rest.Call, req *v1.GetTemplatesRequest) (*v1.GetTemplatesResponse, error) {
	f := store.TemplateFilter{Name: req.Name, WorkspaceIDs: req.WorkspaceIDs}
	err := database.CheckPattern("name", req.Name)
	if err != nil {
		return nil, err
	}
	if f.Sort, f.Desc, err = rest.Sorting(req.Order, map[string]string{"SORT_BY_NAME": "name"}); err != nil {
		return nil, err
	}
	total, err := a.db.CountTemplates(ctx, c.Scope(), f)
	list, page, err := rest.Paged(req.Window, total, err, func(from, n int) ([]store.Template, error) { return a.db.Templates(ctx, c.Scope(), f, from, n) })
	if err != nil {
		return nil, err
	}
	resp := &v1.GetTemplatesResponse{Pagination: page, Templates: make([]v1.Template, len(list))}
	for i, t := range list {
		if resp.Templates[i], err = wireTemplate(t, c.Who()); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

func (a *API) template(_ context.Context, c *rest.Call, t store.Template, _ *v1.None) (*v1.TemplateResponse, error) {
	return templateResponse(t, c.Who())
}

func templateResponse(t store.Template, who auth.Who) (*v1.TemplateResponse, error) {
	w, err := wireTemplate(t, who)
	return &v1.TemplateResponse{Template: w}, err
}

// document sets the document of a template: from a request, as text or as JSON.
func document(t *store.Template, config v1.Struct, source *string) error {
	src := []byte(config)
	if optional.Value(source) != "" {
		src = []byte(*source)
	}
	doc, err := expconf.ParseTemplate(launch.TemplateNamed(t.Name), src)
	if err != nil {
		return launch.WrongConfig(err)
	}
	t.Source, t.Config = doc.Source, doc.Config
	return nil
}

// newTemplate checks a request for a new template.
func (a *API) newTemplate(ctx context.Context, c *rest.Call, req *v1.Template) (store.Template, error) {
	t := store.Template{Name: c.Param("name"), OwnerID: c.Who().UserID, WorkspaceID: req.WorkspaceID}
	if err := checkTemplateName("name", t.Name); err != nil {
		return t, err
	}
	if t.WorkspaceID == 0 {
		t.WorkspaceID = launch.DefaultWorkspace
	}
	ws, err := a.db.Workspace(ctx, t.WorkspaceID)
	if err == nil {
		err = c.May(auth.Create, ofTemplate(t))
	}
	if err != nil {
		return t, err
	}
	if ws.Archived {
		return t, fault.New(fault.Conflict, "workspace %q is archived; unarchive it first", ws.Name)
	}
	return t, document(&t, req.Config, req.Source)
}

// checkTemplateName rejects names that a path cannot contain.
func checkTemplateName(what, name string) error {
	if strings.Contains(name, "/") {
		return fault.New(fault.Invalid, "%s: the name of a template must not contain /", what)
	}
	return names.Check(what, name, names.MaxUnique)
}

func (a *API) createTemplate(ctx context.Context, c *rest.Call, req *v1.Template) (*v1.TemplateResponse, error) {
	t, err := a.newTemplate(ctx, c, req)
	if err == nil {
		err = a.db.AdmitStored(ctx, c.Who().UserID, 0)
	}
	if err != nil {
		return nil, err
	}
	if err := a.db.CreateTemplate(ctx, t); err != nil {
		return nil, err
	}
	return templateResponse(t, c.Who())
}

func (a *API) putTemplate(ctx context.Context, c *rest.Call, p templateOrNew, req *v1.Template) (*v1.TemplateResponse, error) {
	if !p.there {
		return a.createTemplate(ctx, c, req)
	}
	return a.changeTemplate(ctx, c, p.Template, req.Config, req.Source)
}

func (a *API) patchTemplate(ctx context.Context, c *rest.Call, t store.Template, config *v1.Struct) (*v1.TemplateResponse, error) {
	return a.changeTemplate(ctx, c, t, *config, nil)
}

func (a *API) changeTemplate(ctx context.Context, c *rest.Call, t store.Template, config v1.Struct, source *string) (*v1.TemplateResponse, error) {
	if err := document(&t, config, source); err != nil {
		return nil, err
	}
	if err := a.admitChange(ctx, c, t.OwnerID, len(config)+len(optional.Value(source))); err != nil {
		return nil, err
	}
	if err := a.db.ChangeTemplate(ctx, t.Name, t.Source, t.Config); err != nil {
		return nil, err
	}
	return templateResponse(t, c.Who())
}

func (a *API) renameTemplate(ctx context.Context, c *rest.Call, req *v1.PatchTemplateNameRequest) (*v1.TemplateResponse, error) {
	t, err := a.db.Template(ctx, req.OldName)
	if err == nil {
		err = a.onTemplate().Allow(c, auth.Change, t)
	}
	if err != nil {
		return nil, err
	}
	if err := checkTemplateName("newName", req.NewName); err != nil {
		return nil, err
	}
	if err := a.db.RenameTemplate(ctx, t.Name, req.NewName); err != nil {
		return nil, err
	}
	t.Name = req.NewName
	return templateResponse(t, c.Who())
}

func (a *API) deleteTemplate(ctx context.Context, c *rest.Call, t store.Template, _ *v1.None) (*v1.None, error) {
	return &v1.None{}, a.db.DeleteTemplate(ctx, t.Name)
}
