package workspaces_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/workspaces"
)

func TestTemplates(t *testing.T) {
	w := rowtest.New(t)
	ctx := t.Context()
	sample := func(name string) workspaces.Template {
		return workspaces.Template{Name: name, WorkspaceID: 1, OwnerID: 2, Source: "a: 1 # one\n", Config: []byte(`{"a": 1}`)}
	}
	for _, name := range []string{"b", "a%", "ab"} {
		if err := workspaces.CreateTemplate(ctx, w.DB, sample(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := workspaces.CreateTemplate(ctx, w.DB, sample("b")); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), `template "b" already`) {
		t.Errorf("a second template with the same name: %v", err)
	}
	names := func(f workspaces.TemplateFilter) (out []string) {
		list, err := workspaces.Templates(ctx, w.DB, auth.Everywhere(), f, 0, database.MaxPage)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list {
			out = append(out, one.Name)
		}
		return out
	}
	for want, f := range map[string]workspaces.TemplateFilter{"[a% ab b]": {}, "[b ab a%]": {Sort: "name", Desc: true}, "[a%]": {Name: "%"}, "[]": {WorkspaceIDs: []int{7}}} {
		if got := fmt.Sprint(names(f)); got != want {
			t.Errorf("%+v: %s, want %s", f, got, want)
		}
	}
	if err := workspaces.ChangeTemplate(ctx, w.DB, "b", "a: 2\n", []byte(`{"a": 2}`)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(workspaces.RenameTemplate(ctx, w.DB, "b", "c"), workspaces.DeleteTemplate(ctx, w.DB, "ab")); err != nil {
		t.Fatal(err)
	}
	if got, err := workspaces.TemplateByName(ctx, w.DB, "c"); err != nil || got.Source != "a: 2\n" || string(got.Config) != `{"a": 2}` || got.OwnerID != 2 {
		t.Errorf("%+v %v", got, err)
	}
	if err := workspaces.RenameTemplate(ctx, w.DB, "c", "a%"); !fault.Is(err, fault.Conflict) {
		t.Errorf("a rename to a name in use: %v", err)
	}
	for what, err := range map[string]error{"change": workspaces.ChangeTemplate(ctx, w.DB, "z", "", []byte(`{}`)), "rename": workspaces.RenameTemplate(ctx, w.DB, "z", "y"), "delete": workspaces.DeleteTemplate(ctx, w.DB, "z")} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s a template that does not exist: %v", what, err)
		}
	}
}

// A page of templates is bounded by the size of their texts, and has at least one.
func TestTemplatesDoNotFillAPage(t *testing.T) {
	w := rowtest.New(t)
	names := func(offset, limit int) string {
		t.Helper()
		list, err := workspaces.Templates(t.Context(), w.DB, auth.Everywhere(), workspaces.TemplateFilter{}, offset, limit)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, one := range list {
			out = append(out, one.Name)
		}
		return strings.Join(out, " ")
	}
	owner := w.Int(`SELECT id FROM users WHERE username = 'determined'`)
	for _, name := range []string{"a", "b", "c"} {
		if err := workspaces.CreateTemplate(t.Context(), w.DB, workspaces.Template{Name: name, WorkspaceID: 1, OwnerID: owner, Source: "name: x", Config: []byte(`{"name": "x"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := names(0, 10); got != "a b c" {
		t.Errorf("all templates are %q", got)
	}
	if got := names(1, 1); got != "b" {
		t.Errorf("the second template is %q", got)
	}
	w.Exec(`UPDATE templates SET source = repeat('s', $1) WHERE name = 'b'`, database.MaxPageBytes)
	for at, want := range []string{"a", "b", "c"} {
		if got := names(at, 10); got != want {
			t.Errorf("the page that begins at %d is %q, want %q", at, got, want)
		}
	}
	if n, err := workspaces.CountTemplates(t.Context(), w.DB, auth.Everywhere(), workspaces.TemplateFilter{}); err != nil || n != 3 {
		t.Errorf("there are %d templates, %v", n, err)
	}
}
