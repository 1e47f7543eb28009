package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/names"
)

func TestModels(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	made := at(t, me.post("/api/v1/models", `{"name":"mnist","description":"digits","labels":["b","a","b"],"metadata":{"k":{"x":[1]}},"notes":"# read","workspaceName":null}`).ok().tree(), "model")
	for path, want := range map[string]any{"name": "mnist", "description": "digits", "notes": "# read", "metadata.k.x.0": 1.0, "labels.0": "b", "labels.1": "a",
		"numVersions": 0.0, "username": "determined", "workspaceId": 1.0, "archived": false} {
		if got := at(t, made, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	for name, why := range map[string]string{"": "blank", "  ": "blank", "a  b": "spacing", "a/b": "slashes", `a\\b`: "slashes", "12": "only numbers", "mnist": "",
		strings.Repeat("x", 3000): "3000 bytes", `a\nb`: "control"} {
		code := 400
		if name == "mnist" {
			code, why = 409, "avoid names equal to other models"
		}
		me.post("/api/v1/models", `{"name":"`+name+`"}`).says(code, why)
	}
	// Names are case-sensitive, and may contain characters that a URL must escape.
	for _, name := range []string{"MNIST", `m [['b'], {"x": 1}] a,b 100% ?#&+ ü`} {
		me.post("/api/v1/models", fmt.Sprintf(`{"name":%q}`, name)).ok()
		if got := at(t, me.get("/api/v1/models/"+url.PathEscape(name)).ok().tree(), "model.name"); got != name {
			t.Errorf("%q is found as %q", name, got)
		}
	}
	number := "/api/v1/models/" + fmt.Sprint(at(t, made, "id"))
	if got := at(t, me.get(number).ok().tree(), "model.name"); got != "mnist" {
		t.Errorf("by its number it is %v", got)
	}
	for _, none := range []string{"none", "99", "99999999999999999999"} {
		me.get("/api/v1/models/"+none).says(404, none)
	}
	// Everybody edits, and only the owner and admins delete.
	admin.post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	eve := r.user("eve")
	if got := at(t, eve.patch(number, `{"description":"all digits","labels":[],"metadata":null}`).ok().tree(), "model"); at(t, got, "description") != "all digits" ||
		len(at(t, got, "labels").([]any)) != 0 || at(t, got, "metadata.k.x.0") != 1.0 || at(t, got, "notes") != "# read" {
		t.Errorf("%v", got)
	}
	eve.del(number).says(403, "eve")
	eve.patch(number, `{"name":"MNIST"}`).says(409, "MNIST")
	eve.patch(number, `{"name":"7"}`).says(400, "only numbers")
	eve.patch(number, fmt.Sprintf(`{"notes":%q}`, strings.Repeat("x", names.MaxText+1))).says(400, "notes")
	eve.post(number+"/archive", "").ok()
	eve.patch(number, `{"notes":""}`).says(409, "archived")
	eve.post(number+"/archive", "").ok()
	eve.post(number+"/unarchive", "").ok()
	r.anyone().get(number).is(401)
	me.del(number).ok()
	me.get(number).is(404)
	// An archived workspace accepts no models.
	closed := at(t, me.post("/api/v1/workspaces", `{"name":"closed"}`).ok().tree(), "workspace.id")
	me.post(fmt.Sprintf("/api/v1/workspaces/%v/archive", closed), "").ok()
	me.post("/api/v1/models", fmt.Sprintf(`{"name":"late","workspaceId":%v}`, closed)).says(409, "closed")
	me.post("/api/v1/models", `{"name":"late","workspaceName":"nowhere"}`).says(404, "nowhere")
	me.patch("/api/v1/models/MNIST", `{"workspaceName":"closed"}`).says(409, "closed")
	me.post("/api/v1/models/MNIST/move", fmt.Sprintf(`{"modelName":"MNIST","destinationWorkspaceId":%v}`, closed)).says(409, "closed")
	me.post("/api/v1/models/MNIST/move", `{}`).says(400, "destinationWorkspaceId")
}

func TestModelLists(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	team := fmt.Sprint(at(t, me.post("/api/v1/workspaces", `{"name":"Team"}`).ok().tree(), "workspace.id"))
	me.post("/api/v1/models", `{"name":"alpha","description":"zz","labels":["x","y"]}`).ok()
	admin.post("/api/v1/models", `{"name":"Beta","description":"50%_of","labels":["y"],"workspaceName":"Team"}`).ok()
	me.post("/api/v1/models", `{"name":"gamma","workspaceId":`+team+`}`).ok()
	me.post("/api/v1/models/gamma/archive", "").ok()
	me.patch("/api/v1/models/alpha", `{"notes":"changed last"}`).ok()
	for query, want := range map[string]string{
		"": "alpha Beta gamma", "name=BET": "Beta", "description=%25_": "Beta", "labels=y": "alpha Beta", "labels=y&labels=x": "alpha",
		"archived=true": "gamma", "archived=false": "alpha Beta", "users=admin": "Beta", "workspaceIds=" + team: "Beta gamma", "workspaceNames=Team": "Beta gamma",
		"workspaceNames=Uncategorized&workspaceNames=Team": "alpha Beta gamma", "workspaceNames=none": "", "id=2": "Beta", "userIds=99": "",
		"sortBy=SORT_BY_NAME&orderBy=ORDER_BY_DESC": "gamma Beta alpha", "sortBy=SORT_BY_LAST_UPDATED_TIME": "Beta gamma alpha",
		"sortBy=SORT_BY_CREATION_TIME": "alpha Beta gamma", "sortBy=SORT_BY_WORKSPACE&orderBy=ORDER_BY_DESC": "alpha gamma Beta",
		"sortBy=SORT_BY_NUM_VERSIONS": "alpha Beta gamma", "sortBy=SORT_BY_DESCRIPTION": "gamma Beta alpha", "limit=1&offset=1": "Beta", "limit=-2": "", "offset=-1": "gamma"} {
		var got struct {
			Models     []struct{ Name string }
			Pagination struct{ Total, StartIndex, EndIndex int }
		}
		me.get("/api/v1/models?" + query).ok().into(&got)
		var names []string
		for _, m := range got.Models {
			names = append(names, m.Name)
		}
		if strings.Join(names, " ") != want || got.Pagination.EndIndex-got.Pagination.StartIndex != len(names) {
			t.Errorf("%s: %v (%+v), want %s", query, names, got.Pagination, want)
		}
	}
	me.get("/api/v1/models?sortBy=SORT_BY_NONSENSE").says(400, "SORT_BY_NONSENSE")
	me.get("/api/v1/models?archived=perhaps").says(400, "archived")
	labels := func(query string) string {
		return fmt.Sprint(at(t, me.get("/api/v1/model/labels"+query).ok().tree(), "labels"))
	}
	if got := labels("") + labels("?workspaceId="+team) + labels("?workspaceId=99"); got != "[y x][y][]" {
		t.Errorf("labels: %s", got)
	}
	// A workspace with models cannot be deleted.
	me.del("/api/v1/workspaces/"+team).says(400, "contains models; move or delete models first")
	if state := at(t, me.get("/api/v1/workspaces/"+team).ok().tree(), "workspace.archived"); state != false {
		t.Errorf("the refusal has archived the workspace")
	}
	admin.post("/api/v1/models/Beta/move", `{"destinationWorkspaceId":1}`).ok()
	me.post("/api/v1/models/gamma/unarchive", "").ok()
	me.patch("/api/v1/models/gamma", `{"workspaceName":"Uncategorized"}`).ok()
	me.del("/api/v1/workspaces/" + team).ok()
}

// TestNoModelComesIntoADeletedWorkspace: of a workspace's deletion and a new model in it, the second
// is rejected.
func TestNoModelComesIntoADeletedWorkspace(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	for i := range 10 {
		id := fmt.Sprint(at(t, me.post("/api/v1/workspaces", fmt.Sprintf(`{"name":"w%d"}`, i)).ok().tree(), "workspace.id"))
		codes := make(chan int, 1)
		go func() { codes <- me.post("/api/v1/models", fmt.Sprintf(`{"name":"m%d","workspaceId":%s}`, i, id)).code }()
		deleted := me.del("/api/v1/workspaces/" + id).code
		if made := <-codes; (made == 200) == (deleted == 200) {
			t.Errorf("the model: %d, the deletion: %d", made, deleted)
		}
	}
}

// version registers a checkpoint and returns the path of the version.
func (c as) version(model, checkpoint string) string {
	c.r.t.Helper()
	v := at(c.r.t, c.post("/api/v1/models/"+model+"/versions", `{"checkpointUuid":"`+checkpoint+`","modelName":"`+model+`"}`).ok().tree(), "modelVersion.version")
	return fmt.Sprintf("/api/v1/models/%s/versions/%v", model, v)
}

func TestModelVersions(t *testing.T) {
	r := newRig(t)
	a := r.running(sharedStorage(t.TempDir()), 1)
	a.stored()
	me, admin := r.user("determined"), r.user("admin")
	me.post("/api/v1/models", `{"name":"m"}`).ok()
	v := at(t, me.post("/api/v1/models/m/versions", `{"checkpointUuid":"`+older+`","name":"first","comment":"c","labels":["l","l"],"notes":"n","metadata":{"k":1}}`).ok().tree(), "modelVersion")
	for path, want := range map[string]any{"version": 1.0, "name": "first", "comment": "c", "notes": "n", "labels.0": "l", "metadata.k": 1.0, "username": "determined",
		"model.name": "m", "model.numVersions": 1.0, "checkpoint.uuid": older, "checkpoint.state": "STATE_COMPLETED", "checkpoint.metadata.steps_completed": 1.0,
		"checkpoint.training.trialId": float64(a.trial), "checkpoint.training.validationMetrics.avgMetrics.loss": 1.0,
		"checkpoint.training.experimentConfig.checkpoint_storage.type": "shared_fs"} {
		if got := at(t, v, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	admin.version("m", newer)
	me.version("m", older) // once more is another version
	list := func(query string) string {
		t.Helper()
		got := me.get("/api/v1/models/m/versions" + query).ok().tree()
		var numbers []string
		for _, v := range got["modelVersions"].([]any) {
			numbers = append(numbers, fmt.Sprint(at(t, v, "version")))
		}
		return strings.Join(numbers, " ") + " of " + fmt.Sprint(at(t, got, "pagination.total"))
	}
	for query, want := range map[string]string{"": "1 2 3 of 3", "?orderBy=ORDER_BY_DESC": "3 2 1 of 3", "?sortBy=SORT_BY_VERSION&orderBy=ORDER_BY_DESC&limit=1": "3 of 3",
		"?sortBy=SORT_BY_CREATION_TIME&offset=1": "2 3 of 3"} {
		if got := list(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	changed := at(t, admin.patch("/api/v1/models/m/versions/1", `{"name":"best","notes":"","labels":null}`).ok().tree(), "modelVersion")
	if at(t, changed, "name") != "best" || at(t, changed, "notes") != "" || at(t, changed, "comment") != "c" || at(t, changed, "labels.0") != "l" {
		t.Errorf("%v", changed)
	}
	me.get("/api/v1/models/m/versions/9").says(404, "version 9", `"m"`)
	me.get("/api/v1/models/m/versions/x").says(400, "x")
	me.post("/api/v1/models/m/versions", `{"checkpointUuid":"nonsense"}`).says(400, "nonsense")
	me.post("/api/v1/models/m/versions", `{"checkpointUuid":"aaaaaaaa-0000-4000-8000-000000000009"}`).says(404, "000000000009")
	me.post("/api/v1/models/none/versions", `{"checkpointUuid":"`+older+`"}`).says(404, "none")
	// The user who registered a version may delete it, and its number is not used again. (The owner of its checkpoint may, too.)
	r.newUser("eve").del("/api/v1/models/m/versions/2").says(403, "eve")
	me.del("/api/v1/models/m/versions/3").ok()
	me.get("/api/v1/models/m/versions/3").is(404)
	if path := me.version("m", newer); !strings.HasSuffix(path, "/4") {
		t.Errorf("the next version is %s", path)
	}
	me.post("/api/v1/models/m/archive", "").ok()
	me.post("/api/v1/models/m/versions", `{"checkpointUuid":"`+older+`"}`).says(409, "archived and cannot register new versions")
}

// TestRegisteredCheckpointsStay: nobody can remove the files of a checkpoint that is a version, nor delete
// its experiment; an incomplete checkpoint cannot become a version.
func TestRegisteredCheckpointsStay(t *testing.T) {
	r := newRig(t)
	a := r.running(sharedStorage(t.TempDir()), 1)
	a.stored()
	a.over()
	me := r.user("determined")
	me.post("/api/v1/models", `{"name":"m"}`).ok()
	path := me.version("m", older)
	me.do("DELETE", "/api/v1/checkpoints", uuids(newer, older)).says(400, "in the model registry and cannot be deleted", older)
	me.post("/api/v1/checkpoints/rm", `{"checkpointUuids":["`+older+`"],"checkpointGlobs":["model.bin"]}`).says(400, older)
	me.patch("/api/v1/checkpoints", `{"checkpoints":[{"uuid":"`+older+`","resources":{"resources":{}}}]}`).says(400, older)
	me.post("/api/v1/checkpoints/rm", uuids(older)).ok() // only looks
	experiment := fmt.Sprintf("/api/v1/experiments/%d", a.exp)
	me.del(experiment).says(400, "checkpoints are registered as model versions")
	many := me.do("DELETE", "/api/v1/projects/1/experiments/delete", fmt.Sprintf(`{"experimentIds":[%d]}`, a.exp)).ok().tree()
	if why := at(t, many, "results.0.error").(string); !strings.Contains(why, "checkpoints are registered as model versions") {
		t.Errorf("together with others: %q", why)
	}
	preview := me.get(fmt.Sprintf("/experiments/%d/preview_gc?save_experiment_best=0&save_trial_best=0&save_trial_latest=0", a.exp)).ok().tree()
	if list := preview["checkpoints"].([]any); len(list) != 1 || at(t, list[0], "UUID") != newer {
		t.Errorf("a policy would remove %v", list)
	}
	// What is about to go cannot be registered.
	me.do("DELETE", "/api/v1/checkpoints", uuids(newer)).ok()
	me.post("/api/v1/models/m/versions", `{"checkpointUuid":"`+newer+`"}`).says(409, "being removed")
	r.exec(`UPDATE tasks SET ended_at = now() WHERE type = 'CHECKPOINT_GC'`)
	for _, state := range []string{"DELETED", "PARTIALLY_DELETED", "ERROR", "ACTIVE"} {
		r.exec(`UPDATE checkpoints SET state = $1 WHERE uuid = $2`, state, newer)
		me.post("/api/v1/models/m/versions", `{"checkpointUuid":"`+newer+`"}`).says(400, state, "COMPLETED")
	}
	r.exec(`UPDATE checkpoints SET state = 'COMPLETED' WHERE uuid = $1`, newer)
	me.del(path).ok()
	me.del(experiment).ok()
	me.post("/api/v1/models/m/versions", `{"checkpointUuid":"`+newer+`"}`).says(409, "being deleted")
}

// TestACheckpointIsSeenThroughAModel: who may view a model may view its versions' checkpoints, wherever
// they were made, and nothing more of that workspace.
func TestACheckpointIsSeenThroughAModel(t *testing.T) {
	r := newRig(t)
	a := r.running(sharedStorage(t.TempDir()), 1)
	a.stored()
	me, admin := r.user("determined"), r.user("admin")
	theirs := int(at(t, me.post("/api/v1/workspaces", `{"name":"theirs"}`).ok().tree(), "workspace.id").(float64))
	me.post("/api/v1/models", fmt.Sprintf(`{"name":"m","workspaceId":%d}`, theirs)).ok()
	me.post("/api/v1/models", `{"name":"ours"}`).ok()
	path := me.version("m", older)
	admin.get("/api/v1/me").ok()
	r.confine("admin", theirs)
	if got := at(t, admin.get(path).ok().tree(), "modelVersion.checkpoint.uuid"); got != older {
		t.Errorf("the version has %v", got)
	}
	admin.get("/api/v1/checkpoints/" + older).ok()
	admin.get("/api/v1/checkpoints/" + newer).is(404)
	admin.post("/api/v1/checkpoints/"+older+"/metadata", `{"checkpoint":{"metadata":{}}}`).is(403)
	admin.post("/api/v1/models/m/versions", `{"checkpointUuid":"`+newer+`"}`).is(404)
	admin.post("/api/v1/models/m/versions", `{"checkpointUuid":"`+older+`"}`).ok()
	admin.post("/api/v1/models/m/move", `{"destinationWorkspaceId":1}`).is(404)
	admin.patch("/api/v1/models/m", `{"workspaceId":1}`).is(404)
	admin.post("/api/v1/models", `{"name":"new"}`).is(404)
	admin.post("/api/v1/models", fmt.Sprintf(`{"name":"new","workspaceId":%d}`, theirs)).ok()
	me.post("/api/v1/models/m/move", `{"destinationWorkspaceId":1}`).ok()
	admin.get("/api/v1/checkpoints/" + older).is(404)
}

// TestWhatTrialsWorkWith: a checkpoint or version has the metrics of trials that reported that they use it.
func TestWhatTrialsWorkWith(t *testing.T) {
	r := newRig(t)
	a, b := r.running(sharedStorage(t.TempDir()), 1), r.running(yaml(), 1)
	a.stored()
	me := r.user("determined")
	id := at(t, me.post("/api/v1/models", `{"name":"m"}`).ok().tree(), "model.id")
	path := me.version("m", older)
	task := b.ranks[0]
	for step, group := range []string{"validation", "inference"} {
		task.post(b.trialPath("/metrics"), fmt.Sprintf(`{"group":%q,"metrics":{"trialRunId":1,"stepsCompleted":%d,"metrics":{"avgMetrics":{"seen":7}}}}`, group, step+1)).ok()
	}
	link := func(who as, trial int, checkpoint, more string) answer {
		return who.post("/api/v1/trial-source-info", fmt.Sprintf(`{"trialSourceInfo":{"trialId":%d,"checkpointUuid":%q,"trialSourceInfoType":"TRIAL_SOURCE_INFO_TYPE_INFERENCE"%s}}`, trial, checkpoint, more))
	}
	count := func(path string) int {
		t.Helper()
		return len(me.get(path).ok().tree()["metrics"].([]any))
	}
	if n := count(path + "/metrics"); n != 0 {
		t.Errorf("%d metrics before any trial was linked", n)
	}
	version := fmt.Sprintf(`,"modelId":%v,"modelVersion":1`, id)
	link(task, b.trial, newer, version).says(400, older)
	link(task, b.trial, newer, `,"modelVersion":1`).says(400, "modelId")
	link(task, b.trial, newer, `,"modelVersion":5,"modelId":1`).says(404, "version 5")
	link(task, a.trial, older, "").says(403, "attempt")
	link(task, b.trial, "aaaaaaaa-0000-4000-8000-000000000009", "").is(404)
	task.post("/api/v1/trial-source-info", `{"trialSourceInfo":{"trialId":`+fmt.Sprint(b.trial)+`,"checkpointUuid":"`+older+`","trialSourceInfoType":"X"}}`).says(400, "INFERENCE")
	task.post("/api/v1/trial-source-info", `{}`).says(400, "trialSourceInfo")
	got := link(task, b.trial, older, version).ok().tree()
	if got["trialId"] != float64(b.trial) || got["checkpointUuid"] != older {
		t.Errorf("%v", got)
	}
	link(task, b.trial, older, version).ok()
	link(me, b.trial, newer, "").ok()
	for path, want := range map[string]int{path + "/metrics": 2, path + "/metrics?metricGroup=inference": 1, path + "/metrics?trialSourceInfoType=TRIAL_SOURCE_INFO_TYPE_FINE_TUNING": 0,
		path + "/metrics?metricGroup=none": 0, "/api/v1/checkpoints/" + older + "/metrics?trialSourceInfoType=TRIAL_SOURCE_INFO_TYPE_INFERENCE": 2,
		"/api/v1/checkpoints/" + newer + "/metrics?metricGroup=validation": 1} {
		if n := count(path); n != want {
			t.Errorf("%s: %d reports, want %d", path, n, want)
		}
	}
	report := at(t, me.get(path+"/metrics?metricGroup=inference").ok().tree(), "metrics.0")
	if at(t, report, "trialId") != float64(b.trial) || at(t, report, "group") != "inference" || at(t, report, "metrics.avg_metrics.seen") != 7.0 {
		t.Errorf("%v", report)
	}
	// The links do not keep a version, and go with it.
	me.del(path).ok()
	if n := count("/api/v1/checkpoints/" + older + "/metrics"); n != 2 {
		t.Errorf("%d reports for the checkpoint", n)
	}
	if n := r.text(`SELECT count(*)::text FROM trial_sources WHERE version IS NOT NULL`); n != "0" {
		t.Errorf("%s links to versions are left", n)
	}
}

// TestMetricsOfAVersionForOthers: who may view a model sees the reports of those trials that work with it which they may view.
func TestMetricsOfAVersionForOthers(t *testing.T) {
	r := newRoleRig(t)
	r.give(auth.WorkspaceAdmin, "determined", 1)
	a, b := r.running(sharedStorage(t.TempDir()), 1), r.running(yaml(), 1)
	a.stored()
	me := r.user("determined")
	id := at(t, me.post("/api/v1/models", `{"name":"m"}`).ok().tree(), "model.id")
	path := me.version("m", older)
	task := b.ranks[0]
	task.post(b.trialPath("/metrics"), `{"group":"inference","metrics":{"trialRunId":1,"stepsCompleted":1,"metrics":{"avgMetrics":{"seen":7}}}}`).ok()
	task.post("/api/v1/trial-source-info", fmt.Sprintf(`{"trialSourceInfo":{"trialId":%d,"checkpointUuid":%q,"trialSourceInfoType":"TRIAL_SOURCE_INFO_TYPE_INFERENCE","modelId":%v,"modelVersion":1}}`, b.trial, older, id)).ok()
	for role, want := range map[auth.RoleID]int{auth.ModelRegistryViewer: 0, auth.Viewer: 1} {
		name := fmt.Sprintf("role%d", role)
		reader := r.newUser(name)
		r.give(role, name, 1)
		reader.get(path).ok()
		if sees := reader.get(fmt.Sprintf("/api/v1/trials/%d", b.trial)).code == 200; sees != (want == 1) {
			t.Fatalf("%s sees the trial: %v", name, sees)
		}
		for _, of := range []string{path, "/api/v1/checkpoints/" + older} {
			if got := at(t, reader.get(of+"/metrics").ok().tree(), "metrics").([]any); len(got) != want {
				t.Errorf("%s sees %d reports of %s: %v", name, len(got), of, got)
			}
		}
	}
}
