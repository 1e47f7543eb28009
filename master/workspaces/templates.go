package workspaces

import (
	"cmp"
	"context"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// wireTemplate is a template as the caller may see it: without secrets for users who may not
// change it.
func wireTemplate(t Template, who auth.Who) (v1.Template, error) {
	shown := expconf.Template{Source: t.Source, Config: t.Config}
	if !auth.Can(who, auth.Change, t.Object()) {
		var err error
		if shown, err = shown.Redacted(); err != nil {
			return v1.Template{}, err
		}
	}
	return v1.Template{Name: t.Name, WorkspaceID: t.WorkspaceID, Config: shown.Config, Source: &shown.Source}, nil
}

func (d Deps) listTemplates(ctx context.Context, c *rest.Call, req *v1.GetTemplatesRequest) (*v1.GetTemplatesResponse, error) {
	f := TemplateFilter{Name: req.Name, WorkspaceIDs: req.WorkspaceIDs}
	err := database.CheckPattern("name", req.Name)
	if err != nil {
		return nil, err
	}
	if f.Sort, f.Desc, err = rest.Sorting(req.Order, map[string]string{"SORT_BY_NAME": "name"}); err != nil {
		return nil, err
	}
	total, err := CountTemplates(ctx, d.DB, c.Scope(), f)
	list, page, err := rest.Paged(req.Window, total, err, func(from, n int) ([]Template, error) {
		return Templates(ctx, d.DB, c.Scope(), f, from, n)
	})
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

func (d Deps) template(_ context.Context, c *rest.Call, t Template, _ *v1.None) (*v1.TemplateResponse, error) {
	return templateResponse(t, c.Who())
}

func templateResponse(t Template, who auth.Who) (*v1.TemplateResponse, error) {
	w, err := wireTemplate(t, who)
	return &v1.TemplateResponse{Template: w}, err
}

// setDocument sets the document of a template: from a request, as text or as JSON.
func setDocument(t *Template, config v1.Struct, source *string) error {
	src := []byte(config)
	if optional.Value(source) != "" {
		src = []byte(*source)
	}
	doc, err := expconf.ParseTemplate(TemplateNamed(t.Name), src)
	if err != nil {
		return document.Wrong(err)
	}
	t.Source, t.Config = doc.Source, doc.Config
	return nil
}

// newTemplate checks a request for a new template.
func (d Deps) newTemplate(ctx context.Context, c *rest.Call, req *v1.Template) (Template, error) {
	t := Template{Name: c.Param("name"), OwnerID: c.Who().UserID, WorkspaceID: req.WorkspaceID}
	if err := checkTemplateName("name", t.Name); err != nil {
		return t, err
	}
	t.WorkspaceID = cmp.Or(t.WorkspaceID, Default)
	ws, err := Get(ctx, d.DB, t.WorkspaceID)
	if err == nil {
		err = c.May(auth.Create, t.Object())
	}
	if err != nil {
		return t, err
	}
	if ws.Archived {
		return t, fault.New(fault.Conflict, "workspace %q is archived; unarchive it first", ws.Name)
	}
	return t, setDocument(&t, req.Config, req.Source)
}

// checkTemplateName rejects names that a path cannot contain.
func checkTemplateName(what, name string) error {
	if strings.Contains(name, "/") {
		return fault.New(fault.Invalid, "%s: the name of a template must not contain /", what)
	}
	return names.Check(what, name, names.MaxUnique)
}

func (d Deps) createTemplate(ctx context.Context, c *rest.Call, req *v1.Template) (*v1.TemplateResponse, error) {
	t, err := d.newTemplate(ctx, c, req)
	if err == nil {
		err = d.Admit(ctx, c.Who().UserID, 0)
	}
	if err != nil {
		return nil, err
	}
	if err := CreateTemplate(ctx, d.DB, t); err != nil {
		return nil, err
	}
	return templateResponse(t, c.Who())
}

func (d Deps) putTemplate(ctx context.Context, c *rest.Call, p templateOrNew, req *v1.Template) (*v1.TemplateResponse, error) {
	if !p.there {
		return d.createTemplate(ctx, c, req)
	}
	return d.changeTemplate(ctx, c, p.Template, req.Config, req.Source)
}

func (d Deps) patchTemplate(ctx context.Context, c *rest.Call, t Template, config *v1.Struct) (*v1.TemplateResponse, error) {
	return d.changeTemplate(ctx, c, t, *config, nil)
}

func (d Deps) changeTemplate(ctx context.Context, c *rest.Call, t Template, config v1.Struct, source *string) (*v1.TemplateResponse, error) {
	if err := setDocument(&t, config, source); err != nil {
		return nil, err
	}
	if err := d.AdmitChange(ctx, c, t.OwnerID, len(config)+len(optional.Value(source))); err != nil {
		return nil, err
	}
	if err := ChangeTemplate(ctx, d.DB, t.Name, t.Source, t.Config); err != nil {
		return nil, err
	}
	return templateResponse(t, c.Who())
}

func (d Deps) renameTemplate(ctx context.Context, c *rest.Call, req *v1.PatchTemplateNameRequest) (*v1.TemplateResponse, error) {
	t, err := TemplateByName(ctx, d.DB, req.OldName)
	if err == nil {
		err = onTemplate(d.DB).Allow(c, auth.Change, t)
	}
	if err != nil {
		return nil, err
	}
	if err := checkTemplateName("newName", req.NewName); err != nil {
		return nil, err
	}
	if err := RenameTemplate(ctx, d.DB, t.Name, req.NewName); err != nil {
		return nil, err
	}
	t.Name = req.NewName
	return templateResponse(t, c.Who())
}

func (d Deps) deleteTemplate(ctx context.Context, c *rest.Call, t Template, _ *v1.None) (*v1.None, error) {
	return &v1.None{}, DeleteTemplate(ctx, d.DB, t.Name)
}
