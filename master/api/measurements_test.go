package api

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/control/rows"
	v1 "github.com/detent-ml/detent/master/v1"
)

// TestAttemptsOfANode: the list has what ran on one node, the newest first, and for a caller with roles only
// attempts of workspaces that the caller may view.
func TestAttemptsOfANode(t *testing.T) {
	r := newRoleRig(t)
	r.node("aaaaaaaa-1", "one", 4)
	r.node("bbbbbbbb-2", "two", 4)
	admin := r.user("admin")
	r.give(auth.WorkspaceAdmin, "determined", 1)
	me := r.user("determined")
	place := func(node, name string) string {
		id := at(t, me.post("/api/v1/commands", fmt.Sprintf(`{"config":{"entrypoint":["x"],"resources":{"slots":1},"description":%q},"workspaceId":1}`, name)).ok().tree(), "command.id").(string)
		r.apply(rows.Changes{Placements: []rows.Placement{{AllocationID: id + ".1", Members: []rows.PlacedMember{{NodeID: node, NodeName: name, SlotIDs: []int{0}}}}}})
		return id
	}
	first, second, elsewhere := place("aaaaaaaa-1", "one"), place("aaaaaaaa-1", "one"), place("bbbbbbbb-2", "two")
	list := func(who as, node, query string) []string {
		var page v1.ListAttemptsResponse
		if err := v1.Unmarshal(who.get("/api/v1/detent/agents/"+node+"/attempts"+query).ok().body, &page); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, a := range page.Attempts {
			ids = append(ids, a.TaskID)
		}
		return append(ids, fmt.Sprint(page.Pagination.Total))
	}
	for _, c := range []struct {
		who         as
		node, query string
		want        []string
	}{
		{me, "one", "", []string{second, first, "2"}},
		{me, "one", "?limit=1", []string{second, "2"}},
		{me, "one", "?limit=1&offset=1", []string{first, "2"}},
		{me, "two", "", []string{elsewhere, "1"}},
		{admin, "one", "", []string{second, first, "2"}},
		{r.newUser("nora"), "one", "", []string{"0"}},
	} {
		if got := list(c.who, c.node, c.query); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s%s: %v, want %v", c.node, c.query, got, c.want)
		}
	}
}
