package workspaces

import (
	"context"
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Object is the workspace for auth.
func (w Workspace) Object() auth.Object {
	return auth.Object{Kind: v1.KindWorkspace, Name: fmt.Sprintf("%s %d", v1.KindWorkspace, w.ID), OwnerID: w.OwnerID, WorkspaceID: w.ID}
}

// On loads the workspace that a path names.
func On(db *database.DB) rest.Object[Workspace] {
	return rest.On("id", func(ctx context.Context, id int) (Workspace, error) { return Get(ctx, db, id) }, Workspace.Object)
}

// Object is the project for auth.
func (p Project) Object() auth.Object {
	return auth.Object{Kind: v1.KindProject, Name: fmt.Sprintf("%s %d", v1.KindProject, p.ID), OwnerID: p.OwnerID, WorkspaceID: p.WorkspaceID}
}

// OnProject loads the project that a path names.
func OnProject(db *database.DB) rest.Object[Project] {
	return rest.On("id", func(ctx context.Context, id int) (Project, error) { return ProjectByID(ctx, db, id) }, Project.Object)
}

// OnProjectOrAll loads the project that a path names, or none for all projects.
func OnProjectOrAll(db *database.DB) rest.Object[Project] {
	return rest.OrAll(OnProject(db), func(p Project) int { return p.ID })
}

func onProjectByKey(db *database.DB) rest.Object[Project] {
	byKey := func(p Project) auth.Object {
		o := p.Object()
		o.Name = "project " + p.Key
		return o
	}
	return rest.Object[Project]{Of: byKey, Load: func(ctx context.Context, c *rest.Call) (Project, error) {
		return ProjectByKey(ctx, db, strings.ToUpper(c.Param("key")))
	}}
}

// Object is the template for auth.
func (t Template) Object() auth.Object {
	return auth.Object{Kind: v1.KindTemplate, Name: fmt.Sprintf("template %q", t.Name), OwnerID: t.OwnerID, WorkspaceID: t.WorkspaceID}
}

func onTemplate(db *database.DB) rest.Object[Template] {
	return rest.Object[Template]{
		Large: true,
		Load: func(ctx context.Context, c *rest.Call) (Template, error) {
			return TemplateByName(ctx, db, c.Param("name"))
		},
		Of: Template.Object,
		Refusal: func(_ *rest.Call, _ auth.Verb, t Template) error {
			return fault.New(fault.Forbidden, "template %q belongs to another user: only its owner and admins may change it, because it changes what other users run", t.Name)
		},
	}
}

// A templateOrNew is a template that exists, or one that the caller creates.
type templateOrNew struct {
	Template
	there bool
}

// onTemplateOrNew loads the template of a path, which may not exist yet.
func onTemplateOrNew(db *database.DB) rest.Object[templateOrNew] {
	return rest.Object[templateOrNew]{
		Large: true,
		Load: func(ctx context.Context, c *rest.Call) (templateOrNew, error) {
			t, err := TemplateByName(ctx, db, c.Param("name"))
			if fault.Is(err, fault.NotFound) {
				return templateOrNew{Template: Template{OwnerID: c.Who().UserID}}, nil // the caller will own it
			}
			return templateOrNew{t, err == nil}, err
		},
		Of: func(p templateOrNew) auth.Object {
			if !p.there {
				return auth.Object{Kind: v1.KindOwn} // its workspace is in the body, which is read later
			}
			return p.Object()
		},
		Refusal: func(c *rest.Call, verb auth.Verb, p templateOrNew) error {
			return onTemplate(db).Refusal(c, verb, p.Template)
		},
	}
}
