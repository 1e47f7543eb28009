package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	v1 "github.com/detent-ml/detent/master/v1"
)

const quotasPath = "/api/v1/detent/quotas"

// quotasOf lists quotas.
func quotasOf(t *testing.T, who as, query string) []v1.Quota {
	t.Helper()
	var got v1.GetQuotasResponse
	if err := v1.Unmarshal(who.get(quotasPath+query).ok().body, &got); err != nil {
		t.Fatal(err)
	}
	return got.Quotas
}

// set sets a quota and returns its id.
func (c as) setQuota(body string) int {
	c.r.t.Helper()
	return int(at(c.r.t, c.put(quotasPath, body).ok().tree(), "quota.id").(float64))
}

// TestQuotas: administrators of the cluster set all quotas; the owner of a workspace those of its
// projects and users, up to the quota of the workspace.
func TestQuotas(t *testing.T) {
	r := newRig(t)
	admin, me := r.user("admin"), r.user("determined")
	mine := int(at(t, me.post("/api/v1/workspaces", `{"name":"mine"}`).ok().tree(), "workspace.id").(float64))
	project := int(at(t, me.post(fmt.Sprintf("/api/v1/workspaces/%d/projects", mine), `{"name":"p"}`).ok().tree(), "project.id").(float64))
	whole := admin.setQuota(fmt.Sprintf(`{"workspaceId":%d,"hard":8,"soft":4}`, mine))
	if again := admin.setQuota(fmt.Sprintf(`{"workspaceId":%d,"hard":6}`, mine)); again != whole {
		t.Errorf("quota %d takes the place of %d", again, whole)
	}
	of := me.setQuota(fmt.Sprintf(`{"projectId":%d,"resourcePool":"default","soft":1,"hard":6}`, project))
	user := me.setQuota(fmt.Sprintf(`{"workspaceId":%d,"userId":1,"measure":"slot_hours","period":"week","hard":100}`, mine))
	everywhere := admin.setQuota(`{"userId":2,"measure":"slot_hours","period":"total","soft":10}`)
	list := quotasOf(t, me, "")
	if len(list) != 4 {
		t.Fatalf("%+v", list)
	}
	for _, q := range list {
		switch {
		case q.ID == of && (q.WorkspaceID != mine || q.ProjectName != "p" || q.ResourcePool != "default" || *q.Soft != 1 || q.PeriodStart != nil),
			q.ID == user && (q.Username == "" || q.Soft != nil || q.PeriodEnd == nil || q.MeasuredTime == nil || q.WorkspaceName != "mine"),
			q.ID == everywhere && (q.WorkspaceID != 0 || q.PeriodEnd != nil || q.Hard != nil), q.ID == whole && (*q.Hard != 6 || q.Soft != nil):
			t.Errorf("%+v", q)
		}
	}
	for query, want := range map[string]int{fmt.Sprintf("?workspaceId=%d", mine): 3, fmt.Sprintf("?projectId=%d", project): 1, "?userId=1": 1, "?limit=2": 2, "?limit=2&offset=3": 1, "?workspaceId=777": 0} {
		if got := quotasOf(t, me, query); len(got) != want {
			t.Errorf("%s: %+v", query, got)
		}
	}
	t.Run("used", func(t *testing.T) {
		r.exec(`INSERT INTO usage (allocation_id, task_type, owner_id, username, workspace_id, workspace, project_id, pool, slots, queued_at, started_at) VALUES
			('1.a.1', 'TRIAL', 1, 'admin', $1, 'mine', $2, 'default', 3, now(), now() - interval '1 minute')`, mine, project)
		for _, q := range quotasOf(t, me, fmt.Sprintf("?workspaceId=%d", mine)) {
			if want := map[int]float64{whole: 3, of: 3, user: 0}[q.ID]; q.Used != want { // hours are counted every half a minute
				t.Errorf("%+v; want %g", q, want)
			}
		}
		if q := admin.put(quotasPath, fmt.Sprintf(`{"workspaceId":%d,"userId":1,"measure":"slot_hours","period":"total","hard":100}`, mine)).ok().tree(); at(t, q, "quota.used").(float64) > 0.01 {
			t.Errorf("period total begins with the quota: %v", q)
		}
		metrics := string(admin.get("/metrics").ok().body)
		for _, want := range []string{fmt.Sprintf(`det_quota_used{quota="%d",workspace="%d",project="0",user="0",pool="",measure="slots",period=""} 3`, whole, mine), fmt.Sprintf(`det_quota_bound{quota="%d"`, of)} {
			if !strings.Contains(metrics, want) {
				t.Errorf("no %s in\n%s", want, metrics)
			}
		}
	})
	t.Run("wrong", func(t *testing.T) {
		for body, why := range map[string]string{
			`{}`: "set workspaceId, projectId or userId", `{"projectId":1,"userId":1,"hard":1}`: "projectId and userId are both set", `{"workspaceId":1}`: "set soft, hard, or both",
			`{"workspaceId":1,"hard":-1}`: "hard: expected a number from 0 to 1000000, found -1", `{"workspaceId":1,"soft":1000001}`: "soft: expected a number",
			`{"workspaceId":1,"soft":3,"hard":2}`: "soft: 3 is over the hard bound of 2", `{"workspaceId":1,"hard":1,"measure":"gold"}`: "measure: expected slots, cpus, memory or slot_hours",
			`{"workspaceId":1,"hard":1,"measure":"slot_hours"}`: "period: expected day, week, month or total", `{"workspaceId":1,"hard":1,"period":"day"}`: "period: only quotas of slot_hours",
			fmt.Sprintf(`{"workspaceId":1,"projectId":%d,"hard":1}`, project): fmt.Sprintf("project %d is in workspace %d", project, mine),
			fmt.Sprintf(`{"projectId":%d,"hard":7}`, project):                 `hard: 7 is over the 6 that workspace "mine" itself may have in all pools; administrators of the cluster can raise it`,
		} {
			admin.put(quotasPath, body).says(400, why)
		}
		for _, body := range []string{`{"workspaceId":777,"hard":1}`, `{"projectId":777,"hard":1}`, `{"userId":777,"hard":1}`, `{"workspaceId":1,"hard":1,"resourcePool":"third"}`} {
			admin.put(quotasPath, body).says(404, "not found")
		}
		admin.get(quotasPath+"?limit=1001").says(400, "limit: at most 1000")
		admin.del(quotasPath+"/777").says(404, "quota 777 not found")
	})
	t.Run("who may", func(t *testing.T) {
		me.put(quotasPath, fmt.Sprintf(`{"workspaceId":%d,"hard":99}`, mine)).says(403, "only administrators of the cluster may change the quota of workspace mine")
		me.put(quotasPath, `{"userId":1,"hard":99}`).says(403, "only administrators of the cluster")
		me.del(fmt.Sprint(quotasPath, "/", whole)).says(403, "only administrators of the cluster")
		me.del(fmt.Sprint(quotasPath, "/", everywhere)).says(403, "only administrators of the cluster")
		admin.post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
		eve := r.user("eve")
		eve.put(quotasPath, fmt.Sprintf(`{"projectId":%d,"hard":1}`, project)).says(403, `only administrators of workspace "mine" and of the cluster`)
		eve.del(fmt.Sprint(quotasPath, "/", of)).says(403, `only administrators of workspace "mine"`)
		r.anyone().get(quotasPath).is(401)
	})
	t.Run("audit", func(t *testing.T) {
		if n := len(at(t, admin.get("/api/v1/detent/audit?kind=quota").ok().tree(), "entries").([]any)); n < 5 {
			t.Errorf("%d entries", n)
		}
	})
	t.Run("remarks", func(t *testing.T) {
		got := me.post("/api/v1/experiments", createBody(yaml("workspace: mine", "project: p", "resources: {slots_per_trial: 7}"))).ok().tree()
		if text := fmt.Sprint(at(t, got, "remarks")); !strings.Contains(text, "it needs 7 slots, more than the 6 slots of the quota of workspace mine in all pools: it waits until administrators of the cluster raise the quota") {
			t.Errorf("%s", text)
		}
	})
	me.del(fmt.Sprint(quotasPath, "/", of)).ok()
	admin.del(fmt.Sprint(quotasPath, "/", whole)).ok()
	if left := quotasOf(t, admin, fmt.Sprintf("?projectId=%d", project)); len(left) != 0 {
		t.Errorf("%+v", left)
	}
}

// TestQuotasWithRoles: who may not see a workspace learns nothing of its quotas, and the administrator of a
// workspace sets those of its parts only.
func TestQuotasWithRoles(t *testing.T) {
	r := newRig(t)
	admin := r.user("admin")
	admin.post("/api/v1/users", `{"user":{"username":"lead","active":true}}`).ok()
	lead := r.user("lead")
	theirs := int(at(t, admin.post("/api/v1/workspaces", `{"name":"theirs"}`).ok().tree(), "workspace.id").(float64))
	whole, other := admin.setQuota(`{"workspaceId":1,"hard":8}`), admin.setQuota(fmt.Sprintf(`{"workspaceId":%d,"hard":8}`, theirs))
	admin.setQuota(`{"userId":1,"hard":3}`)
	lead.get("/api/v1/me").ok()
	r.confine("lead", 1)
	if got := quotasOf(t, lead, ""); len(got) != 1 || got[0].ID != whole {
		t.Errorf("%+v", got)
	}
	of := lead.setQuota(`{"workspaceId":1,"userId":2,"hard":8}`)
	lead.put(quotasPath, `{"workspaceId":1,"hard":9}`).says(403, "only administrators of the cluster")
	lead.put(quotasPath, `{"workspaceId":1,"userId":2,"hard":9}`).says(400, "hard: 9 is over the 8")
	lead.put(quotasPath, fmt.Sprintf(`{"workspaceId":%d,"userId":2,"hard":1}`, theirs)).says(404, fmt.Sprintf("workspace %d not found", theirs))
	lead.del(fmt.Sprint(quotasPath, "/", other)).says(404, fmt.Sprintf("quota %d not found", other))
	lead.del(fmt.Sprint(quotasPath, "/", whole)).says(403, "only administrators of the cluster")
	lead.del(fmt.Sprint(quotasPath, "/", of)).ok()
	if !auth.Global(v1.KindUser) || auth.Global(v1.KindQuota) {
		t.Error("quotas belong to workspaces")
	}
}
