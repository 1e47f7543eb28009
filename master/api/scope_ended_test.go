package api

import (
	"fmt"
	"strings"
	"testing"
)

// atTheGate returns what the gate answers to the first attempt of an experiment.
func (r *rig) atTheGate(exp int) string {
	r.t.Helper()
	a := &attempt{r: r, exp: exp}
	a.trial, a.task = r.trial(exp, 0)
	a.id = a.task + ".1"
	a.put(1)
	r.runOf(a, 1)
	return string(a.claim(0, a.identify(0), "n").ok().body)
}

// commandAtTheGate returns what the gate answers to the first attempt of a command.
func (r *rig) commandAtTheGate(task string) string {
	r.t.Helper()
	a := &attempt{r: r, task: task, id: task + ".1"}
	a.put(1)
	return string(a.claim(0, a.identify(0), "n").ok().body)
}

// TestANewPasswordEndsSessionsOfTasks: a new password and a deactivation end the sessions of
// all tasks of their user. No task that was started before gets a new session: neither the next
// attempt of a training, nor what a task itself has started. Trainings continue.
func TestANewPasswordEndsSessionsOfTasks(t *testing.T) {
	code := `"modelDefinition":[` + modelFile("train.py", "print(1)\n") + `]`
	for what, c := range map[string]struct {
		end      func(r *rig, me as)
		password string
	}{
		"a new password": {func(_ *rig, me as) { me.patch("/api/v1/users/2", `{"password":"new","isHashed":true}`).ok() }, "new"},
		"a new password by an admin": {func(r *rig, _ as) {
			r.user("admin").post("/api/v1/users/2/password", `{"password":"new","isHashed":true}`).ok()
		}, "new"},
		"a deactivation, then an activation": {func(r *rig, _ as) {
			r.user("admin").patch("/api/v1/users/2", `{"active":false}`).ok()
			r.user("admin").patch("/api/v1/users/2", `{"active":true}`).ok()
		}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			me := r.user("determined")
			training := r.running(yaml(), 1)
			stolen := training.session()
			experiment := stolen.create(yaml(), `"activate":true`, code)
			command := at(t, stolen.post("/api/v1/commands", `{"config":{"entrypoint":["x"]}}`).ok().tree(), "command.id").(string)

			c.end(r, me)

			stolen.get("/api/v1/me").is(401)
			stolen.post("/api/v1/commands", `{"config":{"entrypoint":["x"]}}`).is(401)
			reports := func(a *attempt, run int) {
				t.Helper()
				a.ranks[0].post(a.trialPath("/metrics"), fmt.Sprintf(
					`{"group":"training","metrics":{"trialId":%d,"trialRunId":%d,"stepsCompleted":%[2]d,"metrics":{"avgMetrics":{"loss":1}}}}`, a.trial, run)).ok()
				a.ranks[0].get("/api/v1/users").ok() // its own token may still read
			}
			reports(training, 1)
			again := training.next(2, 1)
			reports(again, 2)
			for which, got := range map[string]string{
				"the training's next attempt":       string(again.claim(0, again.identify(0), "n").ok().body),
				"an experiment that a task started": r.atTheGate(experiment),
				"a command that a task started":     r.commandAtTheGate(command),
			} {
				if strings.Contains(got, "DET_USER_TOKEN") {
					t.Errorf("%s gets a session: %s", which, got)
				}
			}

			var signIn struct{ Token string }
			r.anyone().post("/api/v1/auth/login", fmt.Sprintf(`{"username":"determined","password":%q,"isHashed":true}`, c.password)).ok().into(&signIn)
			fresh := as{r: r, header: "Authorization", token: "Bearer " + signIn.Token}
			if got := r.atTheGate(fresh.create(yaml(), `"activate":true`, code)); !strings.Contains(got, "DET_USER_TOKEN") {
				t.Errorf("an experiment of a new sign-in gets no session: %s", got)
			}
		})
	}
}
