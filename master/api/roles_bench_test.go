package api

import (
	"fmt"
	"testing"
	"time"
)

// inTeams puts the experiments of a rig into 200 workspaces, and returns one project of each.
func (r *rig) inTeams() (workspaces []int) {
	r.t.Helper()
	admin := r.user("admin")
	var projects []int
	for i := range 200 {
		w := int(at(r.t, admin.post("/api/v1/workspaces", fmt.Sprintf(`{"name":"team %d"}`, i)).ok().tree(), "workspace.id").(float64))
		p := admin.post(fmt.Sprintf("/api/v1/workspaces/%d/projects", w), `{"name":"work"}`).ok().tree()
		workspaces, projects = append(workspaces, w), append(projects, int(at(r.t, p, "project.id").(float64)))
	}
	r.exec("UPDATE experiments SET project_id = ($1::int[])[1 + id % 200]", projects)
	r.searchable()
	return workspaces
}

// BenchmarkListsOfTeams: lists and searches of 10,000 experiments in 200 workspaces for a user whose roles show
// three of them, beside the same calls on a cluster without roles, which shows all.
func BenchmarkListsOfTeams(b *testing.B) {
	open, guarded := newRig(b), newRoleRig(b)
	open.manyExperiments(10_000)
	open.inTeams()
	admin := guarded.user("admin")
	assign := func(verb, scope string) {
		admin.post("/api/v1/roles/"+verb+"-assignments", fmt.Sprintf(`{"userRoleAssignments":[{"userId":2,"roleAssignment":{"role":{"roleId":5},%s}}]}`, scope)).ok()
	}
	assign("add", `"scopeCluster":true`)
	guarded.manyExperiments(10_000)
	assign("remove", `"scopeCluster":true`)
	for _, w := range guarded.inTeams()[:3] {
		assign("add", fmt.Sprintf(`"scopeWorkspaceId":%d`, w))
	}
	all, mine := open.user("determined"), guarded.user("determined")
	if n := at(b, mine.get("/api/v1/experiments?limit=1").ok().tree(), "pagination.total"); n != 150.0 {
		b.Fatalf("the roles show %v experiments", n)
	}
	for name, call := range map[string]func(as){
		"det e list --all": func(c as) { c.get("/api/v1/experiments?archived=false&limit=200&offset=0").ok() },
		"newest 40":        func(c as) { c.get("/api/v1/experiments?limit=40&orderBy=ORDER_BY_DESC&sortBy=SORT_BY_ID").ok() },
		"by name":          func(c as) { c.get("/api/v1/experiments?limit=40&sortBy=SORT_BY_NAME").ok() },
		"only count":       func(c as) { c.get("/api/v1/experiments?limit=-2").ok() },
		"search by metric": func(c as) { c.asks(`"limit":40,"withoutConfig":true,"query":"validation.accuracy > 0.5"`).ok() },
		"search by hp, sorted": func(c as) {
			c.asks(`"limit":40,"withoutConfig":true,"query":"hp.lr < 0.5","sort":"validation.accuracy=desc"`).ok()
		},
		"workspaces": func(c as) { c.get("/api/v1/workspaces?limit=100").ok() },
	} {
		b.Run(name, func(b *testing.B) {
			var without, with time.Duration
			for b.Loop() {
				began := time.Now()
				call(all)
				middle := time.Now()
				call(mine)
				without, with = without+middle.Sub(began), with+time.Since(middle)
			}
			b.ReportMetric(float64(without.Microseconds())/float64(b.N), "µs-without")
			b.ReportMetric(float64(with.Microseconds())/float64(b.N), "µs-with-roles")
			b.ReportMetric(with.Seconds()/without.Seconds(), "ratio")
		})
	}
}
