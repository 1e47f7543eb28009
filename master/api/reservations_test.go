package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/pool"
	v1 "github.com/detent-ml/detent/master/v1"
)

const reservationsPath, reservePath = "/api/v1/detent/reservations", "/api/v1/detent/resource-pools/default/reservations"

// reservationsOf lists reservations.
func reservationsOf(t *testing.T, who as, query string) []v1.Reservation {
	t.Helper()
	var got v1.GetReservationsResponse
	if err := v1.Unmarshal(who.get(reservationsPath+query).ok().body, &got); err != nil {
		t.Fatal(err)
	}
	return got.Reservations
}

// within is the time of a reservation in a body, in hours from now.
func within(from, to float64) string {
	at := func(hours float64) string {
		return time.Now().Add(time.Duration(hours * float64(time.Hour))).UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf(`"startTime":%q,"endTime":%q`, at(from), at(to))
}

// TestReservations: administrators reserve slots and nodes, as far as the pool has them at that time; everybody sees when.
func TestReservations(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Pools = append(c.Pools, pool.Pool{Name: "growing", Classes: []pool.Class{{Name: "gpu", Slots: 8}}}, pool.Pool{Name: "bounded", Classes: []pool.Class{{Name: "gpu", Slots: 8, Max: 2}}})
	})
	r.node("n1", "first", 4)
	r.node("n2", "second", 4)
	admin, me := r.user("admin"), r.user("determined")
	reserve := func(body string) int {
		t.Helper()
		return int(at(t, admin.post(reservePath, "{"+body+"}").ok().tree(), "id").(float64))
	}
	six := reserve(`"workspaceId":1,"slots":6,"note":"a deadline",` + within(1, 5))
	now := reserve(fmt.Sprintf(`"userId":2,"slots":2,"endTime":%q`, time.Now().Add(2*time.Hour).UTC().Format(time.RFC3339)))
	maintenance := reserve(`"agents":["second","n2"],` + within(10, 20))

	t.Run("list", func(t *testing.T) {
		list := reservationsOf(t, me, "")
		if len(list) != 3 || list[0].ID != now || !list[0].Active || list[0].Username != "determined" || list[1].ID != six || list[1].Active || list[1].WorkspaceName != "Uncategorized" ||
			list[1].Note != "a deadline" || list[1].CreatedBy != "admin" || list[2].ID != maintenance || fmt.Sprint(list[2].Agents) != "[second]" || list[2].Slots != 0 {
			t.Errorf("%+v", list)
		}
		if got := reservationsOf(t, me, "?resourcePool=default&limit=1&offset=1"); len(got) != 1 || got[0].ID != six {
			t.Errorf("%+v", got)
		}
		me.get(reservationsPath+"?resourcePool=third").says(404, `resource pool "third" not found`)
		r.anyone().get(reservationsPath).is(401)
	})
	t.Run("wrong", func(t *testing.T) {
		for body, why := range map[string]string{
			within(1, 2): "set slots, to reserve them for a workspace or a user, or agents",
			`"slots":2,"agents":["n1"],"workspaceId":1,` + within(1, 2):                        "slots and agents are both set",
			`"slots":2,` + within(1, 2):                                                        "set workspaceId, userId or both",
			`"slots":-1,"workspaceId":1,` + within(1, 2):                                       "slots: expected a positive number, found -1",
			`"agents":["n1"],"userId":1,` + within(1, 2):                                       "a maintenance is for nobody",
			`"slots":9,"workspaceId":1,` + within(30, 31):                                      "slots: pool default has 8 slots that tasks can use, and 9 are asked for",
			`"slots":1,"workspaceId":1,` + within(-2, -1):                                      "endTime: ",
			`"slots":1,"workspaceId":1,` + within(-1, 1):                                       "is in the past; leave it out for a reservation that begins now",
			`"slots":1,"workspaceId":1,` + within(2, 1):                                        "a reservation lasts for at least 1m0s",
			`"slots":1,"workspaceId":1,` + within(1, 2+31*24):                                  "a reservation lasts for at most 31 days",
			`"slots":1,"workspaceId":1,` + within(93*24, 93*24+1):                              "a reservation begins at most 92 days from now",
			`"slots":1,"workspaceId":1,"note":"` + string(make1000('x')) + `",` + within(1, 2): "note: at most 1000 bytes, found 1001",
		} {
			admin.post(reservePath, "{"+body+"}").says(400, why)
		}
		for body, why := range map[string]string{
			`"slots":1,"workspaceId":777,` + within(1, 2): "workspace 777 not found",
			`"slots":1,"userId":777,` + within(1, 2):      "user 777 not found",
			`"agents":["n1","third"],` + within(1, 2):     `agents: node "third" is not in pool default`,
		} {
			admin.post(reservePath, "{"+body+"}").says(404, why)
		}
		for body, why := range map[string]string{
			`"slots":1,"workspaceId":1,` + within(0.5, 3): "of the 8 slots of pool default, 8 are reserved or in maintenance already at ",
			`"slots":5,"workspaceId":1,` + within(15, 16): "4 are reserved or in maintenance already",
			`"agents":["first","n2"],` + within(19, 21):   "agents: node second is in maintenance from ",
		} {
			admin.post(reservePath, "{"+body+"}").says(409, why)
		}
		admin.post("/api/v1/detent/resource-pools/third/reservations", `{"slots":1,"workspaceId":1,`+within(1, 2)+"}").says(404, `resource pool "third" not found`)
		admin.del(reservationsPath+"/777").says(404, "reservation 777 not found")
	})
	t.Run("who may", func(t *testing.T) {
		me.post(reservePath, `{"slots":1,"workspaceId":1,`+within(6, 7)+"}").says(403, "only administrators of the cluster may reserve slots and nodes")
		me.del(fmt.Sprint(reservationsPath, "/", six)).says(403, "only administrators of the cluster may reserve")
	})
	t.Run("a user in a workspace with the same number", func(t *testing.T) {
		got := admin.post(reservePath, `{"workspaceId":1,"userId":1,"slots":1,`+within(30, 31)+"}").ok().tree()
		if at(t, got, "workspaceName") != "Uncategorized" || at(t, got, "username") != "admin" {
			t.Errorf("%v", got)
		}
		admin.del(fmt.Sprint(reservationsPath, "/", at(t, got, "id"))).ok()
	})
	t.Run("at other times there is room", func(t *testing.T) {
		admin.del(fmt.Sprint(reservationsPath, "/", reserve(`"slots":8,"workspaceId":1,`+within(5.1, 9)))).ok()
		admin.del(fmt.Sprint(reservationsPath, "/", reserve(`"slots":4,"workspaceId":1,`+within(12, 13)))).ok()
	})
	t.Run("a pool that can grow", func(t *testing.T) {
		of := func(name string) string { return strings.Replace(reservePath, "default", name, 1) }
		for range 2 {
			admin.post(of("growing"), `{"slots":4000,"workspaceId":1,`+within(1, 2)+"}").ok()
		}
		admin.post(of("growing"), `{"slots":100001,"workspaceId":1,`+within(1, 2)+"}").says(400, "slots: at most 100000 are in one reservation, found 100001")
		admin.post(of("bounded"), `{"slots":17,"workspaceId":1,`+within(1, 2)+"}").says(400, "slots: pool bounded has 16 slots that tasks can use, and 17 are asked for")
		for _, v := range reservationsOf(t, admin, "?resourcePool=growing") {
			admin.del(fmt.Sprint(reservationsPath, "/", v.ID)).ok()
		}
	})
	t.Run("bound", func(t *testing.T) {
		var ids []int
		for range 29 {
			ids = append(ids, reserve(`"slots":1,"workspaceId":1,`+within(100+float64(len(ids)), 101+float64(len(ids)))))
		}
		admin.post(reservePath, `{"slots":1,"workspaceId":1,`+within(6, 7)+"}").says(429, "pool default has 32 reservations that have not ended, and no more are allowed")
		for _, id := range ids {
			admin.del(fmt.Sprint(reservationsPath, "/", id)).ok()
		}
	})
	t.Run("audit", func(t *testing.T) {
		entries := at(t, admin.get(fmt.Sprintf("/api/v1/detent/audit?kind=%s&limit=500", v1.KindPool)).ok().tree(), "entries").([]any)
		if len(entries) < 60 { // 34 were made, and 31 canceled
			t.Errorf("%d entries", len(entries))
		}
	})
	admin.del(fmt.Sprint(reservationsPath, "/", six)).ok()
	admin.del(fmt.Sprint(reservationsPath, "/", six)).says(404, "it may have ended")
	if list := reservationsOf(t, me, ""); len(list) != 2 {
		t.Errorf("%+v", list)
	}
}

// make1000 is one letter more than a note may have.
func make1000(letter byte) []byte {
	text := make([]byte, 1001)
	for i := range text {
		text[i] = letter
	}
	return text
}

// TestReservationsHideWorkspaces: who may not see a workspace learns when slots are reserved, and not for whom.
func TestReservationsHideWorkspaces(t *testing.T) {
	r := newRig(t)
	r.node("n1", "first", 4)
	admin := r.user("admin")
	admin.post("/api/v1/users", `{"user":{"username":"lead","active":true}}`).ok()
	lead := r.user("lead")
	lead.get("/api/v1/me").ok()
	r.confine("lead", 1)
	theirs := int(at(t, admin.post("/api/v1/workspaces", `{"name":"theirs"}`).ok().tree(), "workspace.id").(float64))
	admin.post(reservePath, fmt.Sprintf(`{"workspaceId":%d,"slots":2,"note":"secret",%s}`, theirs, within(1, 2))).ok()
	list := reservationsOf(t, lead, "")
	if len(list) != 1 || list[0].Slots != 2 || list[0].WorkspaceID != 0 || list[0].WorkspaceName != "" || list[0].Note != "" || list[0].CreatedBy != "" || list[0].EndTime.IsZero() {
		t.Errorf("%+v", list)
	}
	lead.post(reservePath, fmt.Sprintf(`{"workspaceId":%d,"slots":1,%s}`, theirs, within(1, 2))).is(403)
}
