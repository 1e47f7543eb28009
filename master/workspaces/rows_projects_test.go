package workspaces_test

import (
	"strconv"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/workspaces"
)

// A page of projects or workspaces with long texts is short, and the pages together have each row once.
func TestPagesOfProjectsAndWorkspaces(t *testing.T) {
	w := rowtest.New(t)
	ctx, in := t.Context(), auth.Everywhere()
	for i := range 5 {
		p, err := workspaces.CreateProject(ctx, w.DB, workspaces.Project{WorkspaceID: 1, Name: "long " + strconv.Itoa(i), Key: "L" + strconv.Itoa(i), OwnerID: 1})
		if err != nil {
			t.Fatal(err)
		}
		w.Exec(`UPDATE projects SET notes = jsonb_build_array(jsonb_build_object('name', 'n', 'contents', repeat('x', $2))) WHERE id = $1`, p.ID, database.MaxPageBytes/3)
		made, err := workspaces.Create(ctx, w.DB, false, "wide "+strconv.Itoa(i), 1, []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		w.Exec(`UPDATE workspaces SET settings = jsonb_build_object('checkpoint_storage', jsonb_build_object('x', repeat('x', $2))) WHERE id = $1`, made.ID, database.MaxPageBytes/3)
	}
	pages := func(what string, total int, read func(offset int) ([]int, error)) {
		seen, short := map[int]bool{}, 0
		for offset := 0; offset < total; {
			ids, err := read(offset)
			if err != nil || len(ids) == 0 {
				t.Fatalf("%s from %d: %v %v", what, offset, ids, err)
			}
			if offset+len(ids) < total {
				short++
			}
			for _, id := range ids {
				if seen[id] {
					t.Errorf("%s: %d is on two pages", what, id)
				}
				seen[id] = true
			}
			offset += len(ids)
		}
		if len(seen) != total || short == 0 {
			t.Errorf("%s: %d of %d rows, %d short pages", what, len(seen), total, short)
		}
	}
	total, err := workspaces.CountProjects(ctx, w.DB, in, workspaces.ProjectFilter{})
	if err != nil {
		t.Fatal(err)
	}
	pages("projects", total, func(offset int) (ids []int, err error) {
		list, err := workspaces.Projects(ctx, w.DB, in, workspaces.ProjectFilter{Sort: "name"}, offset, database.MaxPage)
		for _, p := range list {
			ids = append(ids, p.ID)
		}
		return ids, err
	})
	if total, err = workspaces.Count(ctx, w.DB, in, workspaces.Filter{}); err != nil {
		t.Fatal(err)
	}
	pages("workspaces", total, func(offset int) (ids []int, err error) {
		list, err := workspaces.List(ctx, w.DB, in, workspaces.Filter{Sort: "name", Desc: true}, offset, database.MaxPage)
		for _, p := range list {
			ids = append(ids, p.ID)
		}
		return ids, err
	})
}

// TestEverySort tests that PostgreSQL can sort projects by each column.
func TestEverySort(t *testing.T) {
	w := rowtest.New(t)
	for _, desc := range []bool{false, true} {
		for name := range workspaces.ProjectSorts {
			if _, err := workspaces.Projects(t.Context(), w.DB, auth.Everywhere(), workspaces.ProjectFilter{Sort: name, Desc: desc}, 0, database.MaxPage); err != nil {
				t.Errorf("projects by %s: %v", name, err)
			}
		}
	}
}
